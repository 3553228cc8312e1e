"""Certificates of servers on this machine."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def certificate(name: str, folder: Path, days: int = 1) -> ssl.SSLContext:
    """Return the context of a server whose certificate is for this name, for so many days yet."""
    now = datetime.now(UTC)
    key, subject = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=10))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    encoded = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain
    )
    (folder / "key.pem").write_bytes(encoded)
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context
