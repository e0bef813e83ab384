"""Limits on the resources and the time that one client may take.

A limit keeps a faulty or hostile client from taking the memory, the threads or
the time that the other clients need. `docs/serving.md` lists them for users.
"""

# Requests. 2,048 sentences, the most that may wait, have 2,000 bytes each
# within this limit, which is also the default of gRPC.
MAX_BODY_BYTES = 4 * 2**20
# The rest of a request after this time is not translated.
PREDICT_SECONDS = 300
# SentencePiece makes pieces of at most 16 characters, and UTF-8 takes at most 4
# bytes for one. A longer text is refused before its tokens are counted, because
# counting would take a hundred times its memory.
MAX_BYTES_PER_TOKEN = 64
# Lists in JSON may be nested as deeply as the arrays of our models, and a few
# levels deeper for other models.
MAX_AXES = 8
# Inputs and names of outputs in a message of gRPC.
MAX_FIELDS = 512
# Lists, texts and other values in a body of JSON. A list of numbers counts as
# one, because those are read many at a time.
MAX_VALUES = 2**17
# Values in a request of a translation tool: texts, and a glossary's terms.
MAX_TOOL_VALUES = 2**15
# The texts of an input in a message of gRPC, eight times as many as may wait.
# All inputs together may have twice as many.
MAX_TEXTS = 2**14
# A tensor's message may hold one value that stands for many equal ones. Without
# a limit, a request of a few bytes could fill the memory.
MAX_REPEATED_VALUES = 2**16
# gRPC refuses messages of 8 KiB, and writes an emoji with 12 bytes.
MAX_MESSAGE_CHARACTERS = 500
# Texts, line ends and marks of HTML in a request of a translation tool. Each
# takes up to 0.1 ms to divide into sentences.
MAX_PIECES = 2**14
# Of terms and translations. A model counts their tokens for each batch.
MAX_GLOSSARY_CHARACTERS = 2**15
# Python runs one thread at a time anyway, and a message of gRPC can become
# several times as large when it is parsed.
MAX_PARSED_AT_ONCE = 2
# Texts of translation tools are divided into sentences more slowly.
MAX_DIVIDED_AT_ONCE = 16
# Only larger bodies of REST wait for others that are parsed.
MAX_SMALL_BYTES = 2**15
# The refusal of a larger body is delayed by this time. Reading 4 MiB takes the
# server 10 ms, and clients that send them nonstop would get most of its time.
REFUSAL_SECONDS = 0.25

# HTTP.
MAX_HEADER_BYTES = 32 * 2**10  # that wait for the rest of the headers
REQUEST_SECONDS = 30  # from the first byte of a request to its last one
RESPONSE_SECONDS = 30  # for the client to take the response
IDLE_SECONDS = 60  # between two requests on one connection
LINGER_SECONDS = 2  # for the client to read why its connection is closed
MAX_RUNNING = 256  # requests, each with a thread; it may outlive its client
# The rest is for what needs no thread, such as /health, and for refusals.
MAX_CONNECTIONS = MAX_RUNNING + 16
# A connection that has been idle for this time may be replaced by a new one.
MIN_IDLE_SECONDS = 1
MAX_PENDING_CONNECTIONS = 128  # a small number refuses bursts of clients
MAX_ACCEPTED_AT_ONCE = 16  # before those without a place are closed

# gRPC.
MAX_CALLS = 256  # each holds a thread
# HTTP/2 recommends no fewer. Two stalled clients cannot take all of the places.
MAX_CALLS_OF_CONNECTION = 100
# gRPC has no thread for a connection, so this limits only file descriptors. A
# process often has 1,024 of them, of which REST takes up to 544 for a moment.
MAX_GRPC_CONNECTIONS = 384
# gRPC limits neither the time for a request to arrive nor the time for the
# client to take the response. A connection therefore takes no new calls after
# this time (clients open another one transparently), and its last calls end
# after the grace period, which leaves time for any response.
GRPC_SECONDS = 60
GRPC_GRACE_SECONDS = PREDICT_SECONDS + RESPONSE_SECONDS

# Clients limit the responses that they accept, too.
MAX_RESPONSE_BYTES = 32 * 2**20
