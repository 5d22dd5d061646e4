package chakra

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/workloads/trace"
	"github.com/csiglab/csiglab/workloads/tracefile"
)

// place is what errors about a file begin with.
var place = regexp.MustCompile(`t\.\d+\.(et|json)(: byte \d+|:\d+:\d+): `)

// TestHostile: what is damaged or hostile is an error with its place.
func TestHostile(t *testing.T) {
	raw := func(data ...byte) []byte { return append(et(), data...) }
	size := len(et())
	bomb := bytes.Repeat([]byte{0}, 1<<20)
	deep := strings.Repeat(`[`, 100_000)
	chain := []message{nd(0, typeComp, 19_999)}
	for i := 1; i < 20_000; i++ {
		chain = append(chain, nd(i, typeComp, uint64(i-1)))
	}
	for _, c := range []struct {
		name, ending string
		data         []byte
		want         string
	}{
		{"empty", ".et", nil, "t.0.et: byte 0: the file is empty"},
		{"no protobuf", ".et", []byte("hello, this is some text of no format at all"), "t.0.et: byte 44: the file ends in a message of 104 bytes that begins at byte 1"},
		{"no metadata", ".et", et(nd(1, 4))[size:], "the file does not begin with metadata: field 1 has wire type 0, want 2"},
		{"cut in a length", ".et", raw(0x80), fmt.Sprintf("t.0.et: byte %d: the file ends in the length of a message", size)},
		{"overlong length", ".et", raw(bytes.Repeat([]byte{0xff}, 11)...), "the length of a message is a number of more than 64 bits"},
		{"cut in a message", ".et", et(nd(1, 4))[:size+3], fmt.Sprintf("t.0.et: byte %d: the file ends in a message of", size+3)},
		{"1 TB in a message", ".et", protowire.AppendVarint(et(), 1<<40), fmt.Sprintf("t.0.et: byte %d: a message of 1099511627776 bytes, want at most", size)},
		{"16 MB declared", ".et", protowire.AppendVarint(et(), maxMessage), "the file ends in a message of 16777216 bytes"},
		{"overlong number in a node", ".et", raw(append([]byte{12, 8}, bytes.Repeat([]byte{0xff}, 11)...)...), fmt.Sprintf("t.0.et: byte %d: field 1: variable length integer overflow", size+2)},
		{"field beyond the message", ".et", raw(3, 0x12, 50, 'x'), "field 2: unexpected EOF"},
		{"wrong wire type", ".et", raw(2, 0x10, 1), "field 2 has wire type 0, want 2"},
		{"field number 0", ".et", raw(2, 0, 1), "no protobuf field"},
		{"packed dependencies cut", ".et", raw(3, 0x2a, 1, 0x80), fmt.Sprintf("t.0.et: byte %d: field 5", size+3)},
		{"circle", ".et", et(nd(1, 4, 2), nd(2, 4, 3), nd(3, 4, 1)), `nodes depend on each other in a circle: 1 "n1" depends on 2 "n2"`},
		{"long circle", ".et", et(chain...), "19995 more"},
		{"same id twice", ".et", et(nd(1, 4), nd(1, 4)), "there is another node 1"},
		{"rank of 10^9", ".et", et(nd(1, typeSend).whole("comm_dst", 1_000_000_000).whole("comm_size", 1)), "rank 0 meets rank 1000000000"},
		{"rank of 10^18", ".et", et(nd(1, typeSend).whole("comm_dst", 1e18).whole("comm_size", 1)), "which is no rank"},
		{"exabytes", ".et", et(nd(1, typeSend).whole("comm_dst", 1).whole("comm_size", 1<<62)), "comm_size is 4611686018427387904, want"},
		{"exabytes of a collective", ".et", et(nd(1, typeColl).whole("comm_type", 2).whole("comm_size", 1<<62)), "comm_size is 4611686018427387904, want"},
		{"years", ".et", et(nd(1, typeComp).number(nodeDuration, 1<<63)), "it takes 9223372036854775808 times 1us, want at most"},
		{"years, exact", ".et", et(nd(1, typeComp).number(nodeDuration, 1).whole(exact, 1<<62)), "duration_micros 1"},
		{"another rank's send", ".et", et(nd(1, typeSend).whole("comm_src", 3).whole("comm_dst", 1)), "comm_src is 3 in the trace of rank 0"},
		{"root of another group", ".et", et(nd(1, typeColl).whole("comm_type", 5).whole("comm_size", 9).whole("root", 4)), "root 4 is not in the group"},

		{"no object", ".json", []byte(" [1]"), "t.0.json:1:2: a list, want an object"},
		{"JSON cut", ".json", []byte("{\"workload_graph\": [\n {\"Id\": 1"), "t.0.json:2:10: the file ends in an object"},
		{"JSON deep", ".json", []byte(`{"version": ` + deep), "exceeded max depth"},
		{"JSON deep in a node", ".json", []byte(`{"workload_graph": [{"tensor": ` + deep), "exceeded max depth"},
		{"JSON: a PyTorch trace", ".json", []byte(`{"nodes": []}`), "t.0.json:1:1: an execution trace of PyTorch itself"},
		{"JSON: no metadata", ".json", []byte(`{"id": "1"}`), "t.0.json:1:1: the file begins with a node, want metadata"},
		{"JSON: unknown type", ".json", []byte(`{}{"type": "NO_NODE"}`), `t.0.json:1:12: unknown type "NO_NODE"`},
		{"JSON: negative id", ".json", []byte(`{"workload_graph": [{"Id": -1}]}`), "t.0.json:1:28: Id is -1, want 0 or more"},
		{"JSON: fraction", ".json", []byte(`{"workload_graph": [{"comm_size": 1.5}]}`), "t.0.json:1:35: comm_size is no whole number"},
		{"JSON: list", ".json", []byte(`{"workload_graph": [{"comm_size": [1]}]}`), "comm_size is no whole number"},
		{"JSON: circle", ".json", []byte("{\"workload_graph\": [{\"Id\": 1, \"data_deps\": [2]},\n{\"Id\": 2, \"data_deps\": [1]}]}"), "t.0.json:1:21: node 1: nodes depend on each other"},
		{"JSON: more follows", ".json", []byte(`{"workload_graph": []} {}`), "t.0.json:1:24: an object follows the end"},
		{"JSON: unknown key of an attribute", ".json", []byte(`{}{"attr": [{"nmae": 1}]}`), `unknown key "nmae"`},

		{"gzip damaged", ".et", func() []byte { d := pack(t, et(nd(1, 4))); d[len(d)-6] ^= 1; return d }(), "gzip: invalid checksum"},
		{"gzip cut", ".et", pack(t, bomb)[:60], "gzip: the file is cut off"},
		{"gzip bomb", ".et", pack(t, append(protowire.AppendVarint(et(), maxMessage), bytes.Repeat(bomb, 2)...)), "the files hold more than 1000000 bytes, unpacked"},
		{"gzip bomb, small messages", ".et", pack(t, append(et(), bomb...)), "more than 200000 nodes"},
		{"gzip bomb of JSON", ".json", pack(t, append([]byte(`{"version":"`), bytes.Repeat([]byte("x"), 2<<20)...)), "the files hold more than 1000000 bytes, unpacked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := Read(files(c.ending, c.data), Options{Options: trace.Options{Limits: trace.Limits{Nodes: 200_000, Bytes: 1_000_000}}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if !place.MatchString(err.Error()) {
				t.Errorf("no place in: %v", err)
			}
		})
	}
}

// TestHostileIsCheap: hostile files take little memory and time, whatever they declare.
func TestHostileIsCheap(t *testing.T) {
	checkout.SkipSlowRace(t)
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	block := make([]byte, 1<<20)
	if _, err := w.Write(append(protowire.AppendVarint(et(), maxMessage), block...)); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	million := func(f func(i int) message) []byte {
		var nodes []message
		for i := range 20_000 {
			nodes = append(nodes, f(i))
		}
		return et(nodes...)
	}
	for name, data := range map[string][]byte{
		"bomb":     bomb.Bytes(),
		"declared": protowire.AppendVarint(et(), maxMessage),
		"ranks":    million(func(i int) message { return nd(i, typeSend).whole("comm_dst", int64(i+1)).whole("comm_size", 1) }),
		"tags": million(func(i int) message {
			return nd(i, typeSend).whole("comm_dst", 1).whole("comm_tag", int64(i)).whole("comm_size", 1)
		}),
		"attributes": million(func(i int) message { return nd(i, typeComp).named(fmt.Sprintf("a%d", i), "") }),
		"types":      million(func(i int) message { return nd(i, 100+i) }),
		"dangling":   million(func(i int) message { return nd(i, typeComp, uint64(i)+1e9) }),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		_, loss, err := Read(files(".et", data), Options{Options: trace.Options{Limits: trace.Limits{Bytes: 32 << 20}}})
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		if err == nil && loss.Empty() {
			t.Errorf("%s: neither error nor loss", name)
		}
		if len(loss.Items()) > 200 {
			t.Errorf("%s: a loss report of %d lines", name, len(loss.Items()))
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 400<<20 {
			t.Errorf("%s: %d MB of memory were allocated", name, spent>>20)
		}
		if took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// TestDamaged flips bits of real files: each is an error with its place, or a trace.
func TestDamaged(t *testing.T) {
	dir := checkout.Shared(t, ring)
	var whole [][]byte
	for rank := range 8 {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("custom_allreduce.%d.et", rank)))
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, data)
	}
	const seed = 3
	random := rand.New(rand.NewPCG(seed, 1))
	refused := 0
	for round := range 300 {
		damaged := bytes.Clone(whole[1])
		if round%3 == 0 {
			damaged = damaged[:random.IntN(len(damaged))]
		} else {
			for range 1 + round%4 {
				damaged[26_600+random.IntN(len(damaged)-26_600)] ^= 1 << random.IntN(8)
			}
		}
		list := append([][]byte{}, whole...)
		list[1] = damaged
		if _, _, err := Read(files(".et", list...), Options{}); err != nil {
			refused++
			if !place.MatchString(err.Error()) && !strings.Contains(err.Error(), "no trace of rank") {
				t.Errorf("seed %d, round %d: no place in: %v", seed, round, err)
			}
		}
	}
	if refused < 100 {
		t.Errorf("%d of 300 damaged files were refused", refused)
	}
}

// TestReadErrors: what the system says comes with the name of the file.
func TestReadErrors(t *testing.T) {
	if _, _, err := Open(filepath.Join(t.TempDir(), "nothing"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	broken := errors.New("broken")
	_, _, err := Read([]tracefile.File{{Name: "f", Open: func() (io.ReadCloser, error) { return nil, broken }}}, Options{})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "f: ") {
		t.Errorf("got %v", err)
	}
	if _, _, err := Read(nil, Options{}); err == nil {
		t.Error("no file is no error")
	}
}

// FuzzChakra reads damaged protobuf. What can be read can be written, and is then the same.
func FuzzChakra(f *testing.F) {
	f.Add(et(nd(1, typeComp).number(nodeDuration, 5), nd(2, typeColl, 1).whole("comm_type", 2).whole("comm_size", 9)))
	f.Add(et(nd(1, typeSend).whole("comm_dst", 1).whole("comm_size", 9).whole("comm_tag", 3)))
	f.Add(et(nd(1, typeMetadata).text(nodeName, "## process_group:init ##").bytes(nodeInputs, message{}.text(ioValues, `['[{"pg_name": "0", "ranks": []}]']`))))
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, ".et", data) })
}

// FuzzChakraJSON reads damaged JSON of either form.
func FuzzChakraJSON(f *testing.F) {
	f.Add([]byte(`{"workload_graph": [{"Id": 1, "Name": "a", "NodeType": 4, "runtime": 5}, {"Id": 2, "NodeType": 7, "data_deps": [1], "comm_type": 0, "comm_size": 9}]}`))
	f.Add([]byte(`{"version": "0.0.4"}{"id": "1", "type": "COMM_SEND_NODE", "attr": [{"name": "comm_dst", "int32Val": 1}, {"name": "comm_size", "int64Val": "9"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, ".json", data) })
}

// fuzz reads a file as the trace of rank 0, and as one for four ranks.
func fuzz(t *testing.T, ending string, data []byte) {
	if len(data) > 1<<16 {
		return
	}
	for _, o := range []Options{{}, {Options: trace.Options{Ranks: 4, Replicate: true}}} {
		o.Limits.Bytes, o.Limits.Nodes = 1<<20, 20_000
		s, loss, err := Read(files(ending, data), o)
		if err != nil {
			if text := err.Error(); !place.MatchString(text) && !strings.Contains(text, "rank") {
				t.Fatalf("no place in: %v", err)
			}
			continue
		}
		if len(loss.Items()) > 200 {
			t.Errorf("a loss report of %d lines", len(loss.Items()))
		}
		check(t, s, o.Ranks > 0)
	}
}
