package cli

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Parts of a valid experiment.
const (
	hostileHead     = "schema: 1\nname: hostile\n"
	hostileTopology = "topology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}\n"
	hostileWorkload = "workload: {transfers: [1 -> 2 2MB]}\n"
	hostileValid    = hostileHead + hostileTopology + hostileWorkload
)

// hostileKind is inputs of one kind.
type hostileKind struct {
	name   string
	inputs func() []hostile
}

func hostileKinds() []hostileKind {
	return []hostileKind{
		{"nesting", nestedInputs}, {"width", wideInputs}, {"length", longInputs}, {"endless", endlessInputs},
		{"not a file", oddFiles}, {"encodings", encodedInputs}, {"numbers", numberInputs}, {"aliases", aliasInputs},
		{"expressions", expressionInputs}, {"gzip", packedInputs}, {"fabrics", fabricInputs},
	}
}

// content places a file with a text.
func content(text string) func(t *testing.T, path string) string {
	return func(t *testing.T, path string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// text is an invalid input, or a valid one if valid is set.
func text(name, text string, valid ...bool) hostile {
	return hostile{name: name, place: content(text), valid: len(valid) > 0}
}

// sparse places a file of so many zero bytes, which takes no room.
func sparse(size int64) func(t *testing.T, path string) string {
	return func(t *testing.T, path string) string {
		t.Helper()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Skip(err) // the file system has no such files
		}
		return path
	}
}

// repeated returns n lines.
func repeated(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
	}
	return b.String()
}

func nestedInputs() (list []hostile) {
	for _, depth := range []int{101, 100_000} {
		add := func(name, begin, level, end string, last string) {
			n := min(depth, 1_000_000/max(1, len(level)+len(last)))
			list = append(list, text(fmt.Sprintf("%s %d", name, depth), hostileValid+begin+strings.Repeat(level, n)+end+strings.Repeat(last, n)+"\n"))
		}
		add("lists", "description: ", "[", "", "]")
		add("lists without an end", "description: ", "[", "", "")
		add("mappings", "description: ", "{a: ", "1", "}")
		add("mappings in lists", "description: ", "[{a: ", "1", "}]")
		add("dashes", "description:\n  ", "- ", "a", "")
		add("explicit keys", "", "? ", "a", "")
		add("tags", "description: ", "!a ", "a", "")
		add("anchors", "description: ", "&a ", "a", "")
		add("keys in one line", "", "a: ", "1", "")
		n := min(depth, 1400) // indentation is quadratic
		list = append(list, text(fmt.Sprintf("indented %d", n), hostileValid+"other:\n"+repeated(n, func(i int) string { return strings.Repeat(" ", i+1) + "a:\n" })))
	}
	return list
}

func wideInputs() (list []hostile) {
	for _, n := range []int{2_000, 50_000} {
		add := func(name, begin string, line func(i int) string, end string) {
			list = append(list, text(fmt.Sprintf("%d %s", n, name), begin+repeated(n, line)+end))
		}
		key := func(format string) func(i int) string {
			return func(i int) string { return fmt.Sprintf(format, i) }
		}
		add("unknown keys", hostileValid, key("k%d: 1\n"), "")
		add("equal keys", hostileValid, func(int) string { return "name: a\n" }, "")
		add("variants", hostileValid+"variants:\n", key("  v%d: {links.trim: false}\n"), "")
		add("variants in one line", hostileValid+"variants: {", key("v%d: {}, "), "}\n")
		add("wrong transfers", hostileHead+hostileTopology+"workload:\n  transfers:\n", key("    - %d -> 3 2XB\n"), "")
		add("wrong seeds", hostileValid+"seeds: [", key("x%d, "), "1]\n")
		add("documents", hostileValid, func(int) string { return "---\na: 1\n" }, "")
		add("generators", hostileHead+hostileTopology+"generators:\n", key("  - {host: %d, to: 99, nonsense: 1}\n"), "")
		add("parameters", hostileValid+"hosts:\n  cc:\n    name: nscc\n", key("    p%d: 1\n"), "")
		add("expectations", hostileValid+"expect:\n", key("  - run.x%d < 1\n"), "")
	}
	return list
}

func longInputs() (list []hostile) {
	const mb = 1 << 20
	x := func(n int) string { return strings.Repeat("x", n) }
	list = append(list,
		text("description", hostileValid+"description: "+x(mb-1000)+"\n", true),
		text("quoted description", hostileValid+"description: \""+strings.Repeat(`\n`, mb/2-500)+"\"\n", true),
		text("folded description", hostileValid+"description: >\n"+strings.Repeat("  x\n", mb/4-100), true),
		text("name", "schema: 1\nname: "+x(mb-1000)+"\n"+hostileTopology+hostileWorkload),
		text("key", hostileValid+x(mb-1000)+": 1\n"),
		text("key in one line", hostileValid+"description: {"+x(mb-1000)+": 1}\n"),
		text("variant", hostileValid+"variants: {"+x(mb-1000)+": {}}\n"),
		text("path of a variant", hostileValid+"variants: {a: {"+strings.Repeat("a.", mb/2-1000)+"a: 1}}\n"),
		text("short path of a variant", hostileValid+"variants: {a: {"+strings.Repeat("a.", 120)+"a: 1}}\n"),
		text("comment", hostileValid+"# "+x(mb-1000)+"\n", true),
		text("blank lines", hostileValid+strings.Repeat("\n", mb-1000), true),
		text("blanks", hostileValid+strings.Repeat(" ", mb-1000)+"\n", true),
		text("file name", hostileHead+"topology: {file: "+x(mb-1000)+"}\n"+hostileWorkload),
		text("transfer", hostileHead+hostileTopology+"workload: {transfers: [1 -> 2 "+strings.Repeat("9", mb-1000)+"MB]}\n"),
		text("more than the limit", hostileValid+"description: "+x(16*mb)+"\n"),
	)
	for _, flag := range []string{"--topology", "--workload"} {
		list = append(list,
			hostile{name: flag + ": one line", place: content(x(mb - 1)), flag: flag},
			hostile{name: flag + ": more than the limit", place: sparse(80 * mb), flag: flag},
			hostile{name: flag + ": comments", place: content(strings.Repeat("# "+x(98)+"\n", mb/100)), flag: flag})
	}
	list = append(list, hostile{name: "connections", flag: "--workload", place: content("Nodes 16\nConnections 600000\n" + repeated(600_000, func(i int) string { return fmt.Sprintf("%d->%d start 0 size 1\n", i%15, i%15+1) }))})
	return list
}

// roles are the flags under which a file is read.
var roles = []string{"", "--topology", "--workload"}

func placedAt(name string) func(*testing.T, string) string {
	return func(*testing.T, string) string { return name }
}

func endlessInputs() (list []hostile) {
	for _, flag := range roles {
		for _, name := range []string{"/dev/zero", "/dev/urandom", "/dev/full", "/proc/kmsg", "/proc/self/mem"} {
			list = append(list, hostile{name: flag + name, place: placedAt(name), flag: flag})
		}
		list = append(list, hostile{name: flag + "sparse", flag: flag, place: sparse(100 << 30)})
	}
	return append(list,
		hostile{name: "named in an experiment", place: content(hostileHead + "topology: {file: /dev/zero}\n" + hostileWorkload)},
		hostile{name: "matrix named in an experiment", place: content(hostileHead + hostileTopology + "workload: {file: /dev/zero}\n")})
}

func oddFiles() (list []hostile) {
	check := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, flag := range roles {
		for _, o := range []struct {
			name  string
			place func(t *testing.T, path string) string
		}{
			{"folder", func(t *testing.T, path string) string { check(t, os.Mkdir(path, 0o700)); return path }},
			{"named pipe", func(t *testing.T, path string) string { check(t, syscall.Mkfifo(path, 0o600)); return path }},
			{"link to a named pipe", func(t *testing.T, path string) string {
				check(t, syscall.Mkfifo(path+"pipe", 0o600))
				check(t, os.Symlink(path+"pipe", path))
				return path
			}},
			{"socket", func(t *testing.T, path string) string {
				l, err := net.Listen("unix", path)
				check(t, err)
				t.Cleanup(func() { l.Close() })
				return path
			}},
			{"link to nothing", func(t *testing.T, path string) string { check(t, os.Symlink(path+"none", path)); return path }},
			{"link to itself", func(t *testing.T, path string) string { check(t, os.Symlink(path, path)); return path }},
			{"name of 5000 bytes", placedAt("/" + strings.Repeat("x", 5000))},
		} {
			list = append(list, hostile{name: flag + o.name, place: o.place, flag: flag})
		}
	}
	return list
}

func encodedInputs() (list []hostile) {
	utf16 := func(order string) string {
		b := []byte(order)
		for _, c := range []byte(hostileValid) {
			if order == "\xfe\xff" {
				b = append(b, 0, c)
			} else {
				b = append(b, c, 0)
			}
		}
		return string(b)
	}
	for _, e := range []struct{ name, text string }{
		{"UTF-16, little", utf16("\xff\xfe")}, {"UTF-16, big", utf16("\xfe\xff")}, {"UTF-32", "\xff\xfe\x00\x00s\x00\x00\x00"},
		{"zero bytes", strings.Repeat("\x00", 1<<20)}, {"a zero byte", hostileValid + "\x00"},
		{"all bytes", func() string {
			b := make([]byte, 0, 1<<18)
			for i := range 1 << 18 {
				b = append(b, byte(i*7))
			}
			return string(b)
		}()},
		{"Latin-1 in a name", "schema: 1\nname: caf\xe9\n" + hostileTopology + hostileWorkload},
		{"overlong", "schema: 1\nname: \xc0\xaf\n" + hostileTopology + hostileWorkload},
		{"half a pair", "schema: 1\nname: \xed\xa0\x80\n" + hostileTopology + hostileWorkload},
		{"control characters", "schema: 1\nname: \x01\x02\x1b[2J\n" + hostileTopology + hostileWorkload},
		{"carriage returns alone", strings.ReplaceAll(hostileHead+"nonsense: 1\n", "\n", "\r")},
		{"next line", strings.ReplaceAll(hostileHead+"nonsense: 1\n", "\n", "\u0085")},
		{"right to left", "schema: 1\nname: \u202eabc\n" + hostileTopology + hostileWorkload},
		{"wide signs", "schema： 1\nname： x\n"}, {"tabs", "\tschema: 1\n\tname: x\n"}, {"no YAML", "\x7fELF\x02\x01\x01" + strings.Repeat("\xff", 5000)},
	} {
		list = append(list, text(e.name, e.text))
	}
	for _, flag := range roles[1:] {
		list = append(list, hostile{name: flag + ": UTF-16", place: content(utf16("\xff\xfe")), flag: flag},
			hostile{name: flag + ": zero bytes", place: content(strings.Repeat("\x00", 1<<20)), flag: flag})
	}
	return append(list, text("byte order mark", "\xef\xbb\xbfnonsense: 1\n"+hostileValid), text("line ends of Windows", strings.ReplaceAll(hostileValid, "\n", "\r\n"), true))
}

func numberInputs() (list []hostile) {
	topology := func(name, value string, valid ...bool) {
		list = append(list, text(name, hostileHead+"topology: {"+value+"}\nworkload: {permutation: {size: 1MB}}\n", valid...))
	}
	topology("k 46", "k_ary: {k: 46, rate: 100Gbps, delay: 1us}", true)
	topology("k 48", "k_ary: {k: 48, rate: 100Gbps, delay: 1us}", true)
	topology("k 64", "k_ary: {k: 64, rate: 100Gbps, delay: 1us}", true)
	topology("k 66", "k_ary: {k: 66, rate: 100Gbps, delay: 1us}")
	topology("k 160", "k_ary: {k: 160, rate: 100Gbps, delay: 1us}")
	topology("k of 1000 digits", "k_ary: {k: "+strings.Repeat("9", 1000)+", rate: 100Gbps, delay: 1us}")
	topology("k 1e400", "k_ary: {k: 1e400, rate: 100Gbps, delay: 1us}")
	topology("rate 1e99", "k_ary: {k: 4, rate: 1e99Gbps, delay: 1us}")
	topology("delay of 100 years", "k_ary: {k: 4, rate: 100Gbps, delay: 876000h}")
	topology("dragonfly 4000", "dragonfly: {p: 4000, a: 40, h: 40, rate: 100Gbps, delay: 1us}")
	topology("dragonfly of many groups", "dragonfly: {p: 1, a: 64, h: 64, rate: 100Gbps, delay: 1us}")
	topology("dragonfly of large groups", "dragonfly: {p: 1, a: 2000, h: 1, groups: 4, rate: 100Gbps, delay: 1us}")
	topology("leaf-spine 4096", "leaf_spine: {leaves: 4096, spines: 4096, hosts_per_leaf: 4096, rate: 100Gbps, delay: 1us}")
	topology("leaf-spine of many links", "leaf_spine: {leaves: 1500, spines: 1500, hosts_per_leaf: 1, rate: 100Gbps, delay: 1us}")
	topology("leaf-spine of many hosts", "leaf_spine: {leaves: 64, spines: 1, hosts_per_leaf: 4096, rate: 100Gbps, delay: 1us}")
	topology("bundle 4096", "leaf_spine: {leaves: 512, spines: 1, hosts_per_leaf: 2, bundle: 4096, rate: 100Gbps, delay: 1us}")
	list = append(list,
		text("seeds", hostileValid+"seeds: 1..99999999999999999999\n"),
		text("hexadecimal", hostileValid+"seeds: [0x"+strings.Repeat("f", 500)+"]\n"),
		text("infinity", hostileValid+"seeds: [.inf, .nan, -.inf]\n"),
		text("all to all", hostileHead+"topology: {k_ary: {k: 32, rate: 100Gbps, delay: 1us}}\nworkload: {all_to_all: {size: 1MB}}\n"),
		text("all to all of 1024", hostileHead+"topology: {k_ary: {k: 16, rate: 100Gbps, delay: 1us}}\nworkload: {all_to_all: {size: 1MB}}\n", true),
		text("variants of large fabrics", hostileHead+"topology: {k_ary: {k: 32, rate: 100Gbps, delay: 1us}}\nworkload: {permutation: {size: 1MB}}\nvariants:\n"+
			repeated(200, func(i int) string { return fmt.Sprintf("  v%d: {topology.k_ary.delay: %dus}\n", i, i+1) })),
	)
	topo := func(name, file string, valid ...bool) {
		list = append(list, hostile{name: name, flag: "--topology", place: content(file), valid: len(valid) > 0})
	}
	tier := func(i, down, up int) string {
		s := fmt.Sprintf("Tier %d\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 1000\nRadix_Down %d\n", i, down)
		if up > 0 {
			s += fmt.Sprintf("Radix_Up %d\n", up)
		}
		return s
	}
	topo("file of 65536 hosts", "Nodes 65536\nTiers 3\nPodsize 1024\n"+tier(0, 32, 32)+tier(1, 32, 32)+tier(2, 64, 0), true)
	topo("file of 93312 hosts", "Nodes 93312\nTiers 3\nPodsize 1296\n"+tier(0, 36, 36)+tier(1, 36, 36)+tier(2, 72, 0))
	topo("file of 1e30 hosts", "Nodes 1000000000000000000000000000000\nTiers 3\nPodsize 4\n"+tier(0, 2, 2)+tier(1, 2, 2)+tier(2, 4, 0))
	list = append(list, hostile{name: "connections that are not there", flag: "--workload", place: content("Nodes 16\nConnections 524288\n0->1 start 0 size 1\n")})
	return list
}

func aliasInputs() (list []hostile) {
	for _, levels := range []int{3, 9, 26, 200} {
		laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + repeated(levels, func(i int) string {
			return fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9))
		})
		list = append(list,
			text(fmt.Sprintf("lists of aliases, %d levels", levels), hostileValid+laughs),
			text(fmt.Sprintf("merged aliases, %d levels", levels), hostileValid+"m0: &m0 {a: 1}\n"+repeated(levels, func(i int) string {
				return fmt.Sprintf("m%d: &m%d {<<: [*m%d, *m%d]}\n", i+1, i+1, i, i)
			})),
			text(fmt.Sprintf("anchor in itself, %d times", levels), hostileValid+repeated(levels, func(i int) string { return fmt.Sprintf("s%d: &s%d [*s%d]\n", i, i, i) })))
	}
	for _, n := range []int{10, 100_000} {
		list = append(list,
			text(fmt.Sprintf("%d anchors", n), hostileValid+"description: ["+repeated(n, func(i int) string { return fmt.Sprintf("&a%d 1,", i) })+"]\n"),
			text(fmt.Sprintf("%d aliases", n), hostileValid+"description: ["+strings.Repeat("*a,", n)+"]\n"),
			text(fmt.Sprintf("%d merges", n), hostileValid+strings.Repeat("<<: {a: 1}\n", min(n, 90_000))),
			text(fmt.Sprintf("%d tags", n), hostileValid+"description: ["+strings.Repeat("!!map {},", n)+"]\n"))
	}
	return list
}

func expressionInputs() (list []hostile) {
	for _, n := range []int{1_500, 100_000} {
		add := func(name, expression string) {
			list = append(list, text(fmt.Sprintf("%s, %d", name, n), hostileValid+"expect:\n  - '"+expression+"'\n"))
		}
		add("brackets", strings.Repeat("(", n)+"run.x"+strings.Repeat(")", n)+" < wrong")
		add("brackets without an end", strings.Repeat("(", n)+"run.x")
		add("not", strings.Repeat("not ", n)+"wrong.x")
		add("minus", strings.Repeat("-", n)+"wrong.x < 1")
		add("sum", strings.Repeat("run.x + ", n)+"wrong.x < 1")
		add("choices", strings.Repeat("run.x < 1 ? true : ", n)+"wrong.x")
		add("calls", strings.Repeat("abs(", n)+"wrong.x"+strings.Repeat(")", n)+" < 1")
		add("lists", strings.Repeat("[", n)+"1"+strings.Repeat("]", n)+" == 1")
		add("members", "run"+strings.Repeat(".x", n)+" < 1")
	}
	add := func(name, expression string) {
		list = append(list, text(name, hostileValid+"derived:\n  - {name: m, expr: '"+expression+"'}\n"))
	}
	add("a range", "sum(1..9000000000) < 1")
	add("a map over a range", "map(1..90000000, # * 2)")
	add("a repeated text", `repeat("x", 9000000000)`)
	add("powers", "9 ** 9 ** 9 ** 9 ** 9 < true")
	return list
}

func packedInputs() (list []hostile) {
	pack := func(data []byte) string {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		z.Write(data)
		z.Close()
		return b.String()
	}
	var z bytes.Buffer
	deflate := zlib.NewWriter(&z)
	deflate.Write([]byte(hostileValid))
	deflate.Close()
	whole := pack([]byte(hostileValid))
	bomb := pack(make([]byte, 64<<20))
	for _, flag := range roles {
		for _, p := range []struct{ name, text string }{
			{"gzip", whole}, {"gzip, cut", whole[:len(whole)/2]}, {"gzip of 64 MiB of zeros", bomb}, {"gzip of gzip", pack([]byte(bomb))},
			{"several gzips", strings.Repeat(whole, 1000)}, {"two bytes of gzip", "\x1f\x8b"}, {"zlib", z.String()},
		} {
			list = append(list, hostile{name: flag + p.name, place: content(p.text), flag: flag})
		}
	}
	return append(list,
		hostile{name: "named .gz in an experiment", place: func(t *testing.T, path string) string {
			packed := filepath.Join(filepath.Dir(path), "x.topo.gz")
			content(whole)(t, packed)
			return content(hostileHead+"topology: {file: "+packed+"}\n"+hostileWorkload)(t, path)
		}},
		text("bzip2", "BZh91AY&SY"+strings.Repeat("\x99", 100)), text("xz", "\xfd7zXZ\x00\x00"), text("zstd", "\x28\xb5\x2f\xfd\x00"), text("zip", "PK\x03\x04\x14\x00"))
}
