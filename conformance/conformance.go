// Package conformance tests one device that speaks CSIG against test vectors: frames that go in,
// the state of ports, and the frames that must come out. Each vector belongs to a rule, with the
// public text that the rule comes from. The expected bytes do not come from csiglab's own switch:
// an encoder in the package's tests, written from the documents alone, makes the files.
//
// A Device runs vectors: csiglab's own machines (package own), or any program that answers lines
// of JSON (Program). The package forwards nothing and knows no quantiser.
package conformance

import (
	"bytes"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Schema is the version of the vectors' files. It grows when a reader of the old one would
// misread a file.
const Schema = 1

//go:embed vectors/*.json vectors/README.md
var files embed.FS

// File is a file of vectors.
type File struct {
	Schema  int    `json:"schema"`
	About   string `json:"about"`
	Licence string `json:"licence"`
	// Devices are the configurations of the vectors, by name.
	Devices map[string]*Setup `json:"devices"`
	Vectors []Vector          `json:"vectors"`
}

// Vector is one test of one rule.
type Vector struct {
	ID       string `json:"id"` // of the rule, then a name: CSIG-UPD-01/abw
	RuleID   string `json:"rule"`
	Sentence string `json:"sentence"`
	Standing string `json:"standing"` // Standard or Ours
	Source   Source `json:"source"`
	// Device names the configuration under test, which is Setup. It is no rule: whoever runs the
	// vector sets the device so.
	Device string  `json:"device"`
	Setup  *Setup  `json:"-"`
	In     []Frame `json:"in"`  // in order of time
	Out    []Frame `json:"out"` // of each port in order; what is missing here must not come out
	// OnePort says that all frames leave by the same port, which is any of those of Out.
	OnePort bool `json:"one_port,omitempty"`
}

// Source is where a rule comes from. Documents are those of docs/reference/references.md#csig.
type Source struct {
	Document  string `json:"document"`
	Paragraph string `json:"paragraph"`
}

// String returns both in one line.
func (s Source) String() string { return s.Document + ", " + s.Paragraph }

// Roles of a device.
const (
	RoleSwitch = "switch"
	// RoleHost ends tags and reflects them, over the transport of docs/reference/wire.md. It
	// receives flow 7 from host 1.
	RoleHost = "host"
)

// Setup is the configuration of a device. Types are abw, abw-c, delay and nqd; formats are
// compact and wide.
type Setup struct {
	Role    string `json:"role"`
	Dialect string `json:"dialect"` // uec-0.50 or draft-01
	// Formats has the formats of the domain. Tags of others are unknown to the device.
	Formats   map[string]Format `json:"formats"`
	Interval  int64             `json:"interval_ns"`          // of ABW; windows begin at time 0
	Latency   int64             `json:"latency_ns"`           // from the last bit in to the egress queue
	OverrideD []string          `json:"override_d,omitempty"` // types that are updated in spite of D
	// Trim says that frames beyond a port's queue are cut, and what the tag then gets: force_local
	// the worst code, measured what the port measures, none nothing. "" drops such frames.
	Trim   string  `json:"trim,omitempty"`
	Tunnel *Tunnel `json:"tunnel,omitempty"`
	Ports  []Port  `json:"ports"`
}

// Tunnel makes a switch an end of VXLAN tunnels (RFC 7348), which carry whole frames of hosts: what
// hosts that belong to it send to those of another end enters a tunnel.
type Tunnel struct {
	VNI int `json:"vni"`
	// Self is the end's own number, and Ends has the number of each host's end, by host. End i has the
	// addresses that host i would have; no host has them.
	Self int   `json:"self"`
	Ends []int `json:"ends"`
	// Tags says where the CSIG tag of a frame in a tunnel is: outer, in the outer header, or inner.
	Tags string `json:"tags"`
}

// Format is one format of a domain.
type Format struct {
	TPID       string               `json:"tpid"` // 0x88b5
	Quantisers map[string]Quantiser `json:"quantisers"`
}

// Quantiser maps values to codes. Values are B/s, ppm or ns.
type Quantiser struct {
	// Edges are where ranges begin, of compact tags. Codes are those of the ranges; nil: 0, 1, ….
	Edges []uint64 `json:"edges,omitempty"`
	Codes []int    `json:"codes,omitempty"`
	// Step and Base are of wide tags: powers of two, and Base may be 0.
	Step uint64 `json:"step,omitempty"`
	Base uint64 `json:"base,omitempty"`
}

// Port is one port. Frames for the MAC addresses, and IPv4 packets of the transport for the
// addresses of Hosts leave by it.
type Port struct {
	Rate  int64  `json:"rate"`  // bit/s
	Queue int64  `json:"queue"` // limit in bytes: frames with their check sequence
	MAC   string `json:"mac"`   // of the port, the source of routed packets
	Peer  string `json:"peer"`  // the destination of routed packets
	// Hosts are numbers of hosts that are reached through the port: host i has the MAC address
	// 02:00:00:00:00:00 with i in its bytes 2 to 4, and the address 10.0.0.1 + i. Several ports may
	// have one host.
	Hosts []int `json:"hosts"`
	// Locators and Policies (by format and type) are of the tags that leave: update, pass, strip,
	// terminate. Without a policy: update.
	Locators map[string]int               `json:"locators"`
	Policies map[string]map[string]string `json:"policies,omitempty"`
	Outside  bool                         `json:"outside,omitempty"` // the peer is outside of the domain
	Init     *Init                        `json:"init,omitempty"`
}

// Init says which tags a port puts on frames that come in without one.
type Init struct {
	Format string   `json:"format"`
	Types  []string `json:"types"` // in turn
}

// Frame is a frame without its check sequence, as it comes in or must come out.
type Frame struct {
	At    int64 `json:"at_ns"` // when its last bit comes in; of frames that come out 0, not judged
	Port  int   `json:"port"`
	Bytes Hex   `json:"frame"`
	// State has what the egress port measures for the frame: of devices that are told instead
	// of measuring. It follows from the frames and times before.
	State *State `json:"state,omitempty"`
	// Tags are the CSIG tags as the author of the vector read them, also those in a tunnel's
	// payload. Devices need not look at them.
	Tags []Tag `json:"tags,omitempty"`
	// Free are ranges of bytes (offset, length) of a frame that comes out that no rule fixes.
	Free [][2]int `json:"free,omitempty"`
}

// State is what a port measures.
type State struct {
	ABW   int64 `json:"abw"`   // B/s
	Share int64 `json:"abw-c"` // ppm
	Delay int64 `json:"delay"` // ns
	Depth int64 `json:"nqd"`   // ppm
}

// Tag is the content of a tag.
type Tag struct {
	Format   string `json:"format"`
	Type     int    `json:"t"`
	Signal   int    `json:"s"`
	Locator  int    `json:"lm"`
	D        bool   `json:"d"`
	Reserved int    `json:"r"`
}

// Hex is bytes that JSON has as a hexadecimal number.
type Hex []byte

// MarshalText implements encoding.TextMarshaler.
func (h Hex) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// Read returns a file of vectors. It refuses another schema, and keys that it does not know.
func Read(data []byte) (*File, error) {
	var f File
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	if f.Schema != Schema {
		return nil, fmt.Errorf("schema %d; this reader knows %d", f.Schema, Schema)
	}
	for i := range f.Vectors {
		v := &f.Vectors[i]
		if v.Setup = f.Devices[v.Device]; v.Setup == nil {
			return nil, fmt.Errorf("vector %s: no device %q", v.ID, v.Device)
		}
	}
	return &f, nil
}

// Vectors returns all vectors that are shipped, in the order of their rules.
func Vectors() ([]Vector, error) {
	names, err := fs.Glob(files, "vectors/*.json")
	if err != nil {
		return nil, err
	}
	var all []Vector
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := Read(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, f.Vectors...)
	}
	Order(all, func(v *Vector) string { return v.RuleID })
	return all, nil
}

// Shipped returns the files of vectors by name, as they are in csiglab's repository: JSON, a
// capture beside each, and a README with the licence.
func Shipped() (map[string][]byte, error) {
	entries, err := files.ReadDir("vectors")
	if err != nil {
		return nil, err
	}
	shipped := map[string][]byte{}
	for _, e := range entries {
		data, err := files.ReadFile("vectors/" + e.Name())
		if err != nil {
			return nil, err
		}
		shipped[e.Name()] = data
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		f, err := Read(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		var capture bytes.Buffer
		if err := f.WriteCapture(&capture); err != nil {
			return nil, err
		}
		shipped[name+".pcapng"] = capture.Bytes()
	}
	return shipped, nil
}

// Select returns the vectors that one of the words names: a rule, the beginning of one such as
// CSIG-UPD, a vector, or a standing. Without words it returns all. A word that names nothing is
// an error.
func Select(all []Vector, words []string) (chosen []Vector, err error) {
	if len(words) == 0 {
		return all, nil
	}
	used := make([]bool, len(words))
	for _, v := range all {
		take := false
		for i, w := range words {
			if w == v.Standing || w == v.ID || v.RuleID == w || strings.HasPrefix(v.RuleID, w+"-") {
				used[i], take = true, true
			}
		}
		if take {
			chosen = append(chosen, v)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, fmt.Errorf("%q names no rule and no vector", words[i])
	}
	return chosen, nil
}
