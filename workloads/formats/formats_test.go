package formats_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/workloads/formats"
)

// small has a file of each format.
var small = map[string]string{
	"cm":    "# flows\nNodes 4\nConnections 1\n0->1 start 0 size 9\n",
	"goal":  "/* a\nschedule */\nnum_ranks 2\nrank 0 {\nsend 9b to 1\n}\nrank 1 {\nrecv 9b from 0\n}\n",
	"simai": "MICRO all_gpus: 2\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n",
	"aicb":  "[rank0 ~ rank1]\ncomm_type,comm_group,comm_group_size,msg_size,stage\nCommType.all_reduce,CommGroup.tp_group,2,8,init\n",
	"msccl": `<?xml version="1.0"?>
<!-- all-gather -->
<algo name="pair" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="1">
<gpu id="0" i_chunks="0" o_chunks="2" s_chunks="0"><tb id="0" send="1" recv="1" chan="0">
<step s="0" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
<gpu id="1" i_chunks="0" o_chunks="2" s_chunks="0"><tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
</algo>
`,
	"hpcc": "1\n0 1 3 100 9 2.0\n",
}

// TestDetect holds that a file is known by what is in it, under any name.
func TestDetect(t *testing.T) {
	for _, name := range formats.Names() {
		text, ok := small[name]
		if !ok {
			continue // tested where it is known
		}
		path := filepath.Join(t.TempDir(), "file.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var o formats.Options
		if name == "msccl" {
			o.Size = 8
		}
		in, err := formats.Open(path, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if in.Format != name || (in.Workload == nil) == (in.Source == nil) || in.Loss == nil {
			t.Errorf("%s: read as %+v", name, in)
		}
		if formats.Doc(name) == "" {
			t.Errorf("%s has no doc", name)
		}
	}
	for name := range small {
		if !slices.Contains(formats.Names(), name) {
			t.Errorf("%s is no format", name)
		}
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := formats.Open(file("sized", small["goal"]), formats.Options{Size: 1}); err == nil || !strings.Contains(err.Error(), "sized: a size is for algorithms of MSCCL; files of format goal say their sizes") {
		t.Errorf("a schedule with a size: %v", err)
	}
	for _, c := range []struct {
		path, format, want string
	}{
		{file("pair", small["msccl"]), "", "pair: an algorithm does not say how large its buffer is; give a size"},
		{file("empty", ""), "", "empty:1:1: the file is empty"},
		{file("empty.cm", ""), "", "empty.cm:1:1: the file is empty"},
		{file("words", "hello\n"), "", "words:1:1: the file does not begin like any format that is known; say which it is: "},
		{file("words.cm", "hello\n"), "", `words.cm:1:1: unknown word "hello"`},
		{file("a", small["goal"]), "cm", `a:1:1: unknown word "/*"`},
		{file("b", small["goal"]), "gaol", `unknown format "gaol" (did you mean "goal"?)`},
		{file("c", small["goal"]), "xyz", `unknown format "xyz"; use cm, `},
		{file("kineto.json", "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n"), "", "kineto.json:1:1: a trace of Kineto (Chrome's trace events), which has times and not what depends on what"},
		{file("topology.txt", "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n"), "", "topology.txt:1:1: a topology file of an ns-3 simulator, a fabric without traffic; it belongs into topology.ns3.file"},
		{file("simai", "9 8 1 0 8 H100\n8\n0 8 2880Gbps 0.000025ms 0\n"), "", "simai:1:1: a topology file of an ns-3 simulator"},
		{file("d.cm", "BZh9"), "", "d.cm: compressed with bzip2; unpack it first"},
		{filepath.Join(dir, "none"), "", "none: no such file or directory"},
	} {
		_, err := formats.Open(c.path, formats.Options{Format: c.format})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want …%s…", filepath.Base(c.path), err, c.want)
		}
	}
}
