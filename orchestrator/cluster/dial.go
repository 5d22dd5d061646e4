package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	//lint:ignore SA1019 the types of client-go and its port-forward are still these
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// Dial connects to a TCP port on the loopback address of a pod, by port-forward, over a
// WebSocket, or SPDY where the server or a proxy knows no WebSockets. The connection is one
// stream of bytes. Deadlines work; a write returns when the bytes are under way to the
// server. Nothing says at once whether the port is open: if the node cannot connect to it,
// the first Read returns the reason instead of io.EOF. Close sends first what was written.
func (c *Cluster) Dial(ctx context.Context, pod string, port int) (net.Conn, error) {
	task := fmt.Sprintf("connect to port %d of pod %s", port, pod)
	within, cancel := call(ctx)
	defer cancel()
	type dialed struct {
		conn net.Conn
		err  error
	}
	result := make(chan dialed, 1)
	go func() { // the dialers of client-go know no context
		conn, err := c.forward(pod, port)
		result <- dialed{conn, err}
	}()
	select {
	case d := <-result:
		if d.err != nil {
			return nil, c.explainUpgrade(task, d.err)
		}
		return d.conn, nil
	case <-within.Done():
		go func() {
			if d := <-result; d.conn != nil {
				d.conn.Close()
			}
		}()
		return nil, c.explain(task, context.Cause(within))
	}
}

// forward opens a stream to a port.
func (c *Cluster) forward(pod string, port int) (net.Conn, error) {
	url := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(c.Namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, err
	}
	webSocket, err := portforward.NewSPDYOverWebsocketDialer(url, c.config)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialer(webSocket, spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url), fallback)
	conn, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		conn.Close()
		return nil, fmt.Errorf("%w: the server speaks %q for port-forward, csiglab %q", ErrRefused, protocol, portforward.PortForwardProtocolV1Name)
	}
	f, err := open(conn, pod, port)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return f, nil
}

// fallback reports whether SPDY may work where a WebSocket has failed.
func fallback(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}

// forwarded is a connection to a port of a pod. Streams of client-go have no deadlines; a
// net.Pipe in between has them.
type forwarded struct {
	net.Conn // this end of the pipe
	conn     httpstream.Connection
	address  forwardedAddress
	sent     chan struct{} // closed when everything that was written has been sent
	once     sync.Once

	mu    sync.Mutex
	cause error // why the far end has closed the stream
}

// closeWithin bounds the sending of what was written before Close.
const closeWithin = time.Second

// open opens the two streams of a forwarded port: of errors, and of data
// (portforward.k8s.io, protocol v1).
func open(conn httpstream.Connection, pod string, port int) (*forwarded, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	failures, err := conn.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	failures.Close() // for writing
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := conn.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	f := &forwarded{Conn: near, conn: conn, address: forwardedAddress{pod, port}, sent: make(chan struct{})}
	failed := make(chan error, 1)
	go func() {
		text, err := io.ReadAll(failures)
		switch {
		case len(text) > 0:
			err = fmt.Errorf("port %d of pod %s: %s", port, pod, strings.TrimSpace(string(text)))
		case err != nil:
			err = fmt.Errorf("port %d of pod %s: %w", port, pod, err)
		}
		failed <- err
	}()
	go func() { // what the pod sends
		_, err := io.Copy(far, data)
		if err == nil {
			// The stream has ended. If it ended by an error, that one comes at about this time.
			select {
			case err = <-failed:
			case <-conn.CloseChan():
			case <-time.After(closeWithin):
			}
		}
		f.end(err)
		far.Close()
	}()
	go func() { // what is written here
		defer close(f.sent)
		_, err := io.Copy(data, far)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			f.end(fmt.Errorf("port %d of pod %s: %w", port, pod, err))
		}
		data.Close()
		if err != nil {
			far.Close()
		}
	}()
	return f, nil
}

func (f *forwarded) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cause == nil {
		f.cause = err
	}
}

// why returns why a Read or Write has failed: err, or the reason of the far end.
func (f *forwarded) why(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cause != nil {
		return f.cause
	}
	return err
}

func (f *forwarded) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if err != nil {
		err = f.why(err)
	}
	return n, err
}

func (f *forwarded) Write(p []byte) (int, error) {
	n, err := f.Conn.Write(p)
	if err != nil {
		err = f.why(err)
	}
	return n, err
}

func (f *forwarded) Close() error {
	f.once.Do(func() {
		f.Conn.Close()
		select {
		case <-f.sent:
		case <-time.After(closeWithin):
		}
		f.conn.Close()
	})
	return nil
}

func (f *forwarded) RemoteAddr() net.Addr { return f.address }

// forwardedAddress is a port of a pod.
type forwardedAddress struct {
	pod  string
	port int
}

func (forwardedAddress) Network() string  { return "port-forward" }
func (a forwardedAddress) String() string { return net.JoinHostPort(a.pod, strconv.Itoa(a.port)) }
