#!/usr/bin/env python3
"""memcached_session.py [--seconds N] COMMAND...: starts a memcached on a free port of the loopback interface, lets several clients
set and get at the same time, checks each answer, and stops it with SIGTERM; it must then end by itself with code 0. With a time
the clients go on that long, and the command (a recorder) may take its time to start and to end: memcached is told to stop by a client."""
import itertools
import os
import pwd
import signal
import socket
import subprocess
import sys
import threading
import time

CLIENTS = 4
ROUNDS = 50
PATIENCE = 30  # seconds, for the start and for the end


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(port, server):
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        except ConnectionRefusedError:
            if server.poll() is not None:
                sys.exit(f"memcached ended with {server.returncode} before it listened")
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def ask(stream, request, *answer):
    stream.write(request + b"\r\n")
    stream.flush()
    for line in answer:
        got = stream.readline()
        if got != line + b"\r\n":
            raise ValueError(f"{request!r}: expected {line!r}, got {got!r}")


def rounds(seconds):
    if not seconds:
        return range(ROUNDS)
    end = time.monotonic() + seconds
    return itertools.takewhile(lambda _: time.monotonic() < end, itertools.count())


def client(number, port, server, failures, seconds, done):
    try:
        with connect(port, server) as connection, connection.makefile("rwb") as stream:
            for i in rounds(seconds):
                done[number] += 1
                key, value = b"key-%d-%d" % (number, i), b"value %d" % (number * i)
                ask(stream, b"set %s 0 0 %d\r\n%s" % (key, len(value), value), b"STORED")
                ask(stream, b"get " + key, b"VALUE %s 0 %d" % (key, len(value)), value, b"END")
                ask(stream, b"set counter 0 0 1\r\n%d" % number, b"STORED")
            ask(stream, b"get nothing", b"END")
    except (OSError, ValueError) as error:
        failures.append(f"client {number}: {error}")


def stop(server, port, told):
    if told:
        with connect(port, server) as connection:
            connection.sendall(b"shutdown\r\n")
    else:
        server.send_signal(signal.SIGTERM)
    try:
        code = server.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
        return [f"not ended {PATIENCE} s after SIGTERM"]
    return [] if code == 0 else [f"ended with {code} after SIGTERM"]


def main():
    global PATIENCE
    command, seconds, more = sys.argv[1:], 0, []
    if command[0] == "--seconds":
        seconds, command, more, PATIENCE = int(command[1]), command[2:], ["-A"], 300
    port = free_port()
    user = pwd.getpwuid(os.getuid()).pw_name
    server = subprocess.Popen(command + ["-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "4", "-u", user] + more)
    failures, done = [], [0] * CLIENTS
    try:
        connect(port, server).close()
        clients = [threading.Thread(target=client, args=(n, port, server, failures, seconds, done)) for n in range(CLIENTS)]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
    finally:
        failures += stop(server, port, seconds != 0)
    if failures:
        sys.exit("\n".join(failures))
    print(f"{CLIENTS} clients, {sum(done)} keys set and read")


main()
