"""The bridge for libraries on `requests`."""

from urllib.parse import parse_qsl

from requests.adapters import HTTPAdapter


class JsonForForms(HTTPAdapter):
    """Sends the form that an OAuth library makes as the JSON that the token endpoint reads.

    Mount it at the token endpoint. Everything else, answers and errors included, is what RFC 6749 says.
    """

    def send(self, request, **options):
        fields = dict(parse_qsl(request.body, keep_blank_values=True))
        request.headers.pop("Content-Type", None)
        request.prepare_body(data=None, files=None, json=fields)
        return super().send(request, **options)
