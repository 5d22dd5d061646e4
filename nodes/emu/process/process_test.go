package process_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu/process"
)

// handOver listens at a socket, hands files over to the node that connects, and
// returns the connection and the node's name.
func handOver(t *testing.T, path string, files ...*os.File) (connection int, name string) {
	t.Helper()
	listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(listener)
	if err := unix.Bind(listener, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(listener, 1); err != nil {
		t.Fatal(err)
	}
	if connection, _, err = unix.Accept4(listener, unix.SOCK_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 100)
	n, err := unix.Read(connection, said)
	if err != nil {
		t.Fatal(err)
	}
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	if err := unix.Sendmsg(connection, []byte{0}, unix.UnixRights(fds...), nil, 0); err != nil {
		t.Fatal(err)
	}
	return connection, string(said[:n])
}

func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); write.Close() })
	return read, write
}

// start runs Main with files that are handed over a socket.
func start(t *testing.T) (spec, report *os.File, connection int, code <-chan int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	t.Setenv(process.EnvironmentSocket, path)
	t.Setenv(process.EnvironmentNode, "h3")
	codes := make(chan int, 1)
	go func() { codes <- process.Main() }()
	specRead, spec := pipe(t)
	report, reportWrite := pipe(t)
	connection, name := handOver(t, path, specRead, specRead, reportWrite)
	reportWrite.Close()
	if name != "h3" {
		t.Errorf("the node says that it is %q, want h3", name)
	}
	return spec, report, connection, codes
}

// A node whose connection is closed before it is done ends with code 3: nobody
// reads its report. Main returns although the node is still busy.
func TestMainEndsWithItsConnection(t *testing.T) {
	spec, _, connection, code := start(t)
	select {
	case got := <-code:
		t.Fatalf("Main returned %d before the node had its description", got)
	case <-time.After(50 * time.Millisecond):
	}
	unix.Close(connection)
	if got := <-code; got != 3 {
		t.Errorf("Main returned %d, want 3", got)
	}
	spec.Close() // lets the driver, which has waited for it, end
}

// The image's sh is the node's program, which says what to type instead.
func TestShell(t *testing.T) {
	args := os.Args
	t.Cleanup(func() { os.Args = args })
	t.Setenv(process.EnvironmentNode, "tor1")
	read, write := pipe(t)
	stderr := os.Stderr
	os.Args, os.Stderr = []string{"/bin/sh", "-c", "ip link"}, write
	code := process.Main()
	os.Stderr = stderr
	write.Close()
	said, err := io.ReadAll(read)
	if code != 127 || err != nil || !strings.Contains(string(said), "csiglab exec LAB tor1 -- ip address ") {
		t.Errorf("exit code %d, %v\n%s", code, err, said)
	}
}

// A node that fails says why in its report, and keeps its interfaces until the
// connection is closed.
func TestMainReportsItsFailure(t *testing.T) {
	spec, reports, connection, code := start(t)
	if _, err := spec.WriteString("no description"); err != nil {
		t.Fatal(err)
	}
	spec.Close()
	report, err := process.ReadReport(reports, metrics.NewCollector(0))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(report.Failure, "read the node's description") || report.Link != nil {
		t.Errorf("report %+v, want a failure to read the description", report)
	}
	select {
	case got := <-code:
		t.Fatalf("Main returned %d while the connection was open", got)
	case <-time.After(50 * time.Millisecond):
	}
	unix.Close(connection)
	if got := <-code; got != 3 {
		t.Errorf("Main returned %d, want 3", got)
	}
}
