"""The S3 server of the tests lets in nobody but its account."""

from __future__ import annotations

import requests

from tests.s3 import S3


def test_it_lets_nobody_in_who_does_not_sign(s3: S3) -> None:
    (s3.bucket("bundles") / "key").write_text("secret")
    answer = requests.get(f"{s3.url}/bundles/key", timeout=60)
    assert answer.status_code == 403 and "secret" not in answer.text
