from .h5l import LinkProxy

class GroupID:
    links: LinkProxy

def open(holder: object, name: bytes) -> GroupID: ...
