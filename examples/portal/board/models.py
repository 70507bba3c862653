from django.db import models


class Note(models.Model):
    text = models.CharField("Text", max_length=300)
    pinned_at = models.DateTimeField("angeheftet am", auto_now_add=True)

    class Meta:
        verbose_name = "Zettel"
        verbose_name_plural = "Zettel"
        ordering = ("-pinned_at",)

    def __str__(self) -> str:
        return self.text
