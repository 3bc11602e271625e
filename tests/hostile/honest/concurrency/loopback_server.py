# Trap: a server and client of its own
# Expected: pass
import socket, threading
def successor(n):
    server = socket.create_server(('127.0.0.1', 0))
    def serve():
        conn, _ = server.accept()
        conn.sendall(str(n + 1).encode()); conn.close()
    threading.Thread(target=serve).start()
    with socket.create_connection(server.getsockname()) as c:
        return int(c.recv(100))
