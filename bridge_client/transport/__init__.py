"""HTTP to the bridge: requests, retries, long-polls, the event stream and cancellation."""
