package analysis

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// fabricOfLinks returns the manifest of a fabric: nodes that begin with h are hosts.
func fabricOfLinks(links [][2]string) *runfolder.Manifest {
	m := &runfolder.Manifest{Variants: []runfolder.Variant{{Name: "run"}}}
	node, ports := map[string]int32{}, map[int32]int32{}
	number := func(name string) int32 {
		if _, ok := node[name]; !ok {
			kind := runfolder.KindSwitch
			if name[0] == 'h' {
				kind = runfolder.KindHost
			}
			node[name] = int32(len(m.Nodes))
			m.Nodes = append(m.Nodes, runfolder.Node{Node: node[name], Name: name, Kind: kind})
		}
		return node[name]
	}
	for _, l := range links {
		a, b := number(l[0]), number(l[1])
		m.Ports = append(m.Ports, runfolder.Port{Node: a, Port: ports[a], Peer: b, PeerPort: ports[b], RateBPS: 1e9}, runfolder.Port{Node: b, Port: ports[b], Peer: a, PeerPort: ports[a], RateBPS: 1e9})
		ports[a]++
		ports[b]++
	}
	return m
}

// fatTree returns the links of a fat tree of k-port switches.
func fatTree(k int) (links [][2]string) {
	for pod := range k {
		for t := range k / 2 {
			tor := fmt.Sprintf("tor%d", pod*k/2+t)
			for h := range k / 2 {
				links = append(links, [2]string{fmt.Sprintf("h%d", (pod*k/2+t)*k/2+h), tor})
			}
			for a := range k / 2 {
				links = append(links, [2]string{tor, fmt.Sprintf("agg%d", pod*k/2+a)})
			}
		}
		for a := range k / 2 {
			for c := range k / 2 {
				links = append(links, [2]string{fmt.Sprintf("agg%d", pod*k/2+a), fmt.Sprintf("core%d", a*k/2+c)})
			}
		}
	}
	return links
}

// shape describes a drawing: boxes by row, and the lines.
func shape(f *Fabric) string {
	rows := map[int]int{}
	for _, b := range f.Boxes {
		rows[b.Row]++
	}
	links := 0
	for _, l := range f.Lines {
		links += l.Links
	}
	return fmt.Sprintf("%d hosts, %d switches, ring %v, boxes %v, %d lines of %d links", f.Hosts, f.Switches, f.Ring, rows, len(f.Lines), links)
}

// A drawing has at most as many boxes as a reader can tell apart, whatever the size of
// the fabric, and stands for every node and link.
func TestFabricFolds(t *testing.T) {
	var line, dragonfly [][2]string
	for i := range 40 {
		line = append(line, [2]string{fmt.Sprintf("h%d", i), fmt.Sprintf("s%d", i)})
		if i > 0 {
			line = append(line, [2]string{fmt.Sprintf("s%d", i-1), fmt.Sprintf("s%d", i)})
		}
	}
	for i := range 36 { // 9 groups of 4
		dragonfly = append(dragonfly, [2]string{fmt.Sprintf("h%d", i), fmt.Sprintf("r%d", i)})
	}
	for i := range 36 {
		for j := i/4*4 + 3; j > i; j-- {
			dragonfly = append(dragonfly, [2]string{fmt.Sprintf("r%d", i), fmt.Sprintf("r%d", j)})
		}
	}
	for a := range 9 {
		for b := range a {
			dragonfly = append(dragonfly, [2]string{fmt.Sprintf("r%d", 4*a+b%4), fmt.Sprintf("r%d", 4*b+a%4)})
		}
	}
	for _, c := range []struct {
		name  string
		links [][2]string
		want  string
	}{
		{"single nodes", fatTree(4), "16 hosts, 20 switches, ring false, boxes map[0:16 1:8 2:8 3:4], 48 lines of 48 links"},
		{"hosts fold", fatTree(6), "54 hosts, 45 switches, ring false, boxes map[0:18 1:18 2:18 3:9], 126 lines of 162 links"},
		{"pods fold", fatTree(8), "128 hosts, 80 switches, ring false, boxes map[0:8 1:16], 128 lines of 128 links"},
		{"pods and cores fold", fatTree(16), "1024 hosts, 320 switches, ring false, boxes map[0:8 1:1], 8 lines of 1024 links"},
		{"a line", line[:19], "10 hosts, 10 switches, ring false, boxes map[0:10 1:10], 19 lines of 19 links"},
		{"a long line", line, "40 hosts, 40 switches, ring false, boxes map[0:10], 9 lines of 9 links"},
		{"a Dragonfly", dragonfly, "36 hosts, 36 switches, ring true, boxes map[0:9], 36 lines of 36 links"},
	} {
		m := fabricOfLinks(c.links)
		f, _ := fabricOf(m, m.Variants[0].Name, nil, nil, nil)
		if got := shape(f); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		hosts, switches := 0, 0
		for _, b := range f.Boxes {
			hosts, switches = hosts+b.Hosts, switches+b.Switches
		}
		if hosts != f.Hosts || switches != f.Switches {
			t.Errorf("%s: boxes of %d hosts and %d switches of %d and %d", c.name, hosts, switches, f.Hosts, f.Switches)
		}
	}
	if f, _ := fabricOf(&runfolder.Manifest{Variants: []runfolder.Variant{{Name: "run"}}}, "run", nil, nil, nil); f != nil {
		t.Errorf("a fabric without links: %+v", f)
	}
}

// A line has the load of its busiest link, by direction; a mark is where its port is;
// a flow is drawn where all its shortest paths go.
func TestFabricShowsLoadAndFlows(t *testing.T) {
	m := fabricOfLinks(append(fatTree(4), [2]string{"tor0", "agg0"})) // a bundle of two
	place := func(from, to string, nth int) Place {
		for _, p := range placesOf(m, "run") {
			if p.From == from && p.To == to {
				if nth == 0 {
					return p
				}
				nth--
			}
		}
		t.Fatalf("no port %s-%s", from, to)
		return Place{}
	}
	port := func(p Place, load float64) Port {
		return Port{Place: p, Use: []Use{{Variant: "run", Utilisation: load}}}
	}
	used := []Port{port(place("tor0", "agg0", 0), 0.2), port(place("tor0", "agg0", 1), 0.6), port(place("agg0", "tor0", 0), 0.1), port(place("h0", "tor0", 0), 0.9)}
	src, dst := place("h0", "tor0", 0).Node, place("h2", "tor1", 0).Node
	f, _ := fabricOf(m, m.Variants[0].Name, used, used[1:2], []runfolder.Flow{{Name: "0-2", Src: src, Dst: dst, Size: 1}})
	name := func(box int) string { return f.Boxes[box].Name }
	i := slices.IndexFunc(f.Lines, func(l FabricLine) bool { return name(l.A) == "tor0" && name(l.B) == "agg0" })
	if l := f.Lines[i]; l.Links != 2 || l.Up != 0.6 || l.Down != 0.1 || l.Load() != 0.6 {
		t.Errorf("line %+v", l)
	}
	if m := f.Marks; len(m) != 1 || name(m[0].From) != "tor0" || name(m[0].To) != "agg0" {
		t.Errorf("marks %+v", m)
	}
	var steps []string
	for _, s := range f.Paths[0].Steps {
		steps = append(steps, name(s[0])+" "+name(s[1]))
	}
	if d := cmp.Diff(steps, []string{"h0 tor0", "tor1 h2"}); d != "" || f.Paths[0].Whole {
		t.Errorf("path %+v (-got +want):\n%s", f.Paths[0], d)
	}
	many := make([]runfolder.Flow, MaxGroups+1)
	if f, _ := fabricOf(m, m.Variants[0].Name, nil, nil, many); len(f.Paths) != 0 {
		t.Errorf("%d paths of many flows", len(f.Paths))
	}
}
