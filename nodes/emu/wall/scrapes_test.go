package wall

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/exposition/endpoint"
	"github.com/csiglab/csiglab/units"
)

// scrapedSocket is the environment variable that makes the test a process with metrics.
const scrapedSocket = "TEST_SCRAPED_SOCKET"

// testedLimit stands for memoryLimit, which 200,000 scrapes reach.
const testedLimit = 64 << 20

// The memory of a process whose collector is off grows with scrapes up to its limit, where it
// stays: a scrape leaves some garbage, and nothing else.
func TestMemoryOfScrapes(t *testing.T) {
	if path := os.Getenv(scrapedSocket); path != "" {
		beScraped(t, path)
		return
	}
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("takes a while; set CSIGLAB_E2E=1")
	}
	path := filepath.Join(t.TempDir(), "metrics")
	child := exec.Command(os.Args[0], "-test.run", "^TestMemoryOfScrapes$")
	child.Env = append(os.Environ(), scrapedSocket+"="+path)
	child.Stderr = os.Stderr
	end, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait() //nolint:errcheck // it has nothing to say
	defer end.Close()
	resident := func() int64 {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", child.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n << 10
	}
	c := endpoint.NewClient(path)
	defer c.Close()
	for range 1000 {
		if _, err = c.Read(t.Context()); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	const tenth = 6000
	before := resident()
	t.Logf("%d kB before", before>>10)
	var after []int64
	for range 10 {
		for range tenth {
			if text, err := c.Read(t.Context()); err != nil || len(text) < 10_000 {
				t.Fatalf("%d bytes, %v", len(text), err)
			}
		}
		after = append(after, resident())
		t.Logf("%d scrapes: %d MB, %d bytes a scrape", tenth*len(after), after[len(after)-1]>>20, (after[len(after)-1]-before)/int64(tenth*len(after)))
	}
	const slack = 24 << 20 // of the program, which the limit does not count
	if last := after[9]; last < testedLimit/2 || last > testedLimit+slack || last > after[4]+after[4]/10 {
		t.Errorf("no plateau: %d bytes after %d scrapes, %d after %d", after[4], 5*tenth, last, 10*tenth)
	}
	if grown := (after[0] - before) / tenth; grown > 4096 {
		t.Errorf("a scrape leaves %d bytes", grown)
	}
}

// beScraped serves the metrics of a switch with 32 ports until standard input ends.
func beScraped(t *testing.T, path string) {
	noCollections()
	debug.SetMemoryLimit(testedLimit)
	d := exposition.Description{Window: 100 * units.Microsecond}
	b := &metrics.Batch{}
	for i := range int32(32) {
		d.Ports = append(d.Ports, exposition.PortDescription{Port: i, NodeName: "tor0", Name: fmt.Sprintf("tor0-h%d", i), Tier: "tor", Direction: "down", Rate: 1e11})
		b.Ports = append(b.Ports, metrics.PortWindow{Port: i, TxPackets: 100, TxBytes: 400_000, QueueMax: 5000, ABW: 1e9})
	}
	set := exposition.NewSet(d)
	set.Consume(b)
	s, err := endpoint.Serve(path, set.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // ends when the other end is closed
}
