"""The same job done with django-eventstream, by its documentation: a Django project without anything else."""
