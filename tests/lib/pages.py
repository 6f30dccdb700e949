# The pages that the browser's tests look at, served from inside the sandbox: pages.py PORT [TLS-PEM]
import http.server
import ssl
import sys
import threading
import time
from urllib.parse import parse_qs, urlparse

LOGIN = """<title>Login</title><form action=/dashboard method=get>
<input name=user><input name=pass type=password><button type=submit>Sign in</button></form>"""
HOME = """<title>Home</title><h1>Hello</h1><a href=/two>two</a>
<button id=b onclick="document.title='clicked'">one</button>
<button class=d>x</button><button class=d>y</button><input id=i><select id=s><option value=1>One
<option value=2>Two</select><input type=checkbox id=c>
<button id=hidden style="display:none">h</button><button id=disabled disabled>d</button>
<div style="position:relative;width:90px"><button id=covered>c</button>
<div id=over style="position:absolute;inset:0;background:#fff">o</div></div>
<input type=file id=f onchange="document.title=this.files[0].name+':'+this.files[0].size">
<a id=popup target=_blank href=/two>popup</a><a id=download href=/download>download</a>
<button id=alert onclick="alert('hi');document.title='alerted'">alert</button>
<button id=confirm onclick="document.title='confirmed '+confirm('sure?')">confirm</button>
<button id=late onclick="setTimeout(()=>document.body.insertAdjacentHTML('beforeend','<p id=came>came</p>'),500)">l</button>
<button id=spin onclick="for(;;){}">spin</button>"""
FRAMES = """<title>Frames</title><iframe srcdoc="<button onclick=this.textContent='done'>inner</button>"></iframe>
<iframe src="http://localhost:%d/two"></iframe>
<iframe src="http://localhost:%d/button"></iframe>"""

GLYPHS = """<meta charset=utf-8><title>glyphs</title><style>span{font-size:40px;display:inline-block;
width:60px;height:60px}</style>""" + "".join(
    f"<span id=g{i}>{c}</span>" for i, c in enumerate("漢字かな한국ไกहक😀🚀éß"))
# Before its load has ended it has asked, and until it is answered nothing goes on.
XSS = "<title>xss</title><script>alert('stored');confirm('?');prompt('?')</script><p>after"
CHOOSER = """<title>chooser</title><input type=file id=hid style="display:none"
onchange="document.title=this.files[0].name"><button id=open onclick="hid.click()">choose</button>"""
DETACH = """<title>detach</title><button id=gone disabled>x</button>
<script>setTimeout(() => gone.remove(), 300)</script>"""
HEAVY = """<title>heavy</title><script>for (let i = 0; i < 24; i++) { const c = document.createElement('canvas');
c.width = c.height = 1024; const x = c.getContext('2d'); for (let j = 0; j < 200; j++) { x.fillStyle =
'#' + (j * 9999 % 4096).toString(16).padStart(3, 0); x.fillRect(j * 5, j, 900, 900 - j) } document.body.append(c) }
</script>"""
PDF = b"""%PDF-1.1
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
trailer<</Root 1 0 R>>
"""
released = threading.Event()


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def give(self, body, status=200, kind="text/html; charset=utf-8", **headers):
        data = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        url = urlparse(self.path)
        query = {key: value[0] for key, value in parse_qs(url.query).items()}
        port = self.server.server_address[1]
        match url.path:
            case "/": self.give(HOME)
            case "/login": self.give(LOGIN)
            case "/dashboard": self.give(f"<title>Dashboard</title><p id=who>{query.get('user')}</p>")
            case "/two": self.give("<title>Two</title><p>second page</p>")
            case "/links": self.give("<title>Links</title><a id=here href=#here>here</a> "
                                     "<a id=missing href=/404>missing</a>")
            case "/404": self.give("<title>nothing</title>", 404)
            case "/204": self.give("", 204)
            case "/loop": self.give("", 302, location="/loop")
            case "/reset":
                self.connection.shutdown(2)
                self.close_connection = True
            case "/hang": time.sleep(300)
            case "/slow":
                time.sleep(float(query["s"]))
                self.give("<title>slow</title>")
            case "/download":
                self.give(b"12345", kind="application/octet-stream",
                          content_disposition='attachment; filename="../../evil name.bin"')
            case "/frames": self.give(FRAMES % (port, port))
            case "/tall":
                self.give("<body style='margin:0'><div style='background:linear-gradient(red,blue);"
                          f"height:{query['h']}px'></div>")
            case "/font":
                self.give("<style>@font-face{font-family:x;src:url(/hang)}body{font-family:x}</style>text")
            case "/leave":
                self.give("<title>leave</title><button>b</button><script>"
                          "onbeforeunload=e=>{e.preventDefault();return 'x'}</script>")
            case "/auth":
                if self.headers.get("authorization") == "Basic dTpw":
                    self.give("<title>authorized</title>")
                else:
                    self.give("", 401, www_authenticate="Basic realm=x")
            case "/big": self.give("<title>big</title>" + ("<p>" + "x" * 1021) * (int(query["mb"]) << 10))
            case "/drip":
                # Half of it, then nothing until somebody asks for /release.
                self.send_response(200)
                self.send_header("content-type", "application/octet-stream")
                self.send_header("content-disposition", "attachment; filename=drip.bin")
                self.send_header("content-length", "2000000")
                self.end_headers()
                self.wfile.write(bytes(1000000))
                self.wfile.flush()
                released.wait()
                self.wfile.write(bytes(1000000))
            case "/release":
                released.set()
                self.give("released")
            case "/to-download": self.give("", 302, location="/download")
            case "/button": self.give("<button onclick=\"this.textContent='pressed'\">far</button>")
            case "/pdf": self.give(PDF, kind="application/pdf")
            case "/glyphs": self.give(GLYPHS)
            case "/xss": self.give(XSS)
            case "/chooser": self.give(CHOOSER)
            case "/detach": self.give(DETACH)
            case "/heavy": self.give(HEAVY)
            case "/bodies": self.give("<title>b</title><body><p>one</p></body><script>document.documentElement"
                                      ".append(document.createElement('body'))</script>")
            case "/table": self.give("<title>table</title><table>" + "".join(
                f"<tr><td>row {i}<td>x" for i in range(int(query["rows"]))) + "</table>")
            case "/json": self.give('{"a":1}', kind="application/json")
            case "/cjk": self.give("<title>漢字 😀</title><p style='font-size:40px'>漢字かな한국어😀")
            case _: self.give("", 404)

    def log_message(self, *ignored):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


server = Server(("127.0.0.1", int(sys.argv[1])), Pages)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
