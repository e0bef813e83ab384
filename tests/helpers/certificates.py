"""Certificates that sign themselves."""

import subprocess


def make_certificate(folder, name):
    """Writes a certificate and its key; returns their paths."""
    paths = str(folder / f"{name}.pem"), str(folder / f"{name}.key")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes"),
            *("-subj", "/CN=localhost", "-days", "2"),
            *("-addext", "subjectAltName=DNS:localhost"),
            *("-out", paths[0], "-keyout", paths[1]),
        ],
        check=True,
        capture_output=True,
    )
    return paths
