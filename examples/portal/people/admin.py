from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from people.models import Person

admin.site.register(Person, UserAdmin)
