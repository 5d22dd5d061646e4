package promserver_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics/promserver"
	"github.com/csiglab/csiglab/metrics/promserver/limits"
)

// The body of a request that does not come holds no connection, whether the request has the
// token or not, and whether anybody reads it or not. What comes late but in time is read.
func TestSlowBodies(t *testing.T) {
	const patience = 3 * time.Second
	_, open := newServer(t, promserver.Config{Limits: limits.Limits{Time: patience}})
	_, guarded := newServer(t, promserver.Config{Limits: limits.Limits{Time: patience}, Token: "secret"})
	send := func(address, path, kind, length string) net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n%s\r\n\r\n", path, kind, length)
		return c
	}
	type held struct {
		name string
		net.Conn
	}
	var all []held
	const form = "application/x-www-form-urlencoded"
	for _, address := range []string{open.URL, guarded.URL} {
		for _, length := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			for _, kind := range []string{form, "multipart/form-data; boundary=x", "application/json"} {
				for _, path := range []string{"/api/v1/query", "/api/v1/labels", "/api/v1/read", "/", "/sd", "/-/healthy", "/scrape/a/b", "/nothing"} {
					all = append(all, held{strings.Join([]string{address, path, kind, length}, " "), send(address, path, kind, length)})
				}
			}
		}
	}
	for _, c := range all {
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("%s: %v: the connection is held", c.name, err)
		}
	}
	c := send(open.URL, "/api/v1/query", form, "Content-Length: 7")
	time.Sleep(patience / 3)
	fmt.Fprint(c, "query=1")
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
		t.Errorf("%q, %v, want an answer", line, err)
	}
}
