package csig

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
)

// newDomain returns the domain of c or ends the test.
func newDomain(t testing.TB, c Config) *Domain {
	t.Helper()
	d, err := NewDomain(c)
	if err != nil {
		t.Fatalf("NewDomain(%+v): %v", c, err)
	}
	return d
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// layouts are the four layouts of a tag.
var layouts = []Config{
	{Format: FormatCompact}, {Format: FormatWide},
	{Format: FormatCompact, Dialect: Draft01}, {Format: FormatWide, Dialect: Draft01},
}

type tagVector struct {
	config Config
	tag    Tag
	wire   string // TPID included
}

// tagVectors are worked tags in hex, those of docs/reference/references.md#worked-tags and more.
func tagVectors() []tagVector {
	compact, wide := Config{Format: FormatCompact}, Config{Format: FormatWide}
	draft := Config{Format: FormatCompact, Dialect: Draft01, TPIDCompact: 0x9900}
	return []tagVector{
		{compact, Tag{Type: ABW, Signal: 31}, "88b50f80"},
		{compact, Tag{Type: ABWC, Signal: 31}, "88b52f80"},
		{compact, Tag{Type: Delay}, "88b54000"},
		{compact, Tag{Type: NQD}, "88b56000"},
		{compact, Tag{Type: ABW, Signal: 7, Locator: 1}, "88b50382"},
		{compact, Tag{Type: ABWC, Signal: 4, Locator: 1}, "88b52202"},
		{compact, Tag{Type: Delay, Signal: 19, Locator: 41}, "88b549d2"},
		{compact, Tag{Type: Delay, Signal: 19, Locator: 41, DoNotUpdate: true}, "88b549d3"},
		{compact, Tag{Type: NQD, Signal: 17, Locator: 63}, "88b568fe"},
		{compact, Tag{Type: 5, Signal: 21, Locator: 21}, "88b5aaaa"},
		{compact, Tag{Type: 7, Signal: 31, Locator: 63, DoNotUpdate: true}, "88b5efff"},
		{compact, Tag{Reserved: 1}, "88b51000"},
		{draft, Tag{Type: ABWC, Signal: 23, Locator: 5}, "99002b85"},
		{draft, Tag{Type: ABWC, Signal: 16, Locator: 66}, "99002842"},
		{wide, Tag{Type: ABW, Signal: 0xfffff}, "88b600000fffff00"},
		{wide, Tag{Type: Delay}, "88b6000020000000"},
		{wide, Tag{Type: Delay, Signal: 0x12345, Locator: 0x2aaa}, "88b6555421234500"},
		{wide, Tag{Type: ABWC, Signal: 125000, Locator: 0x421}, "88b6084211e84800"},
		{wide, Tag{Type: NQD, Signal: 0xfffff, Locator: 0x7fff, DoNotUpdate: true}, "88b6ffff3fffff00"},
		{wide, Tag{Type: 15}, "88b60000f0000000"},
		{Config{Format: FormatWide, Dialect: Draft01}, Tag{Type: NQD, Signal: 1, Locator: 0xffff, Reserved: 0xa5}, "88b6ffff300001a5"},
	}
}

func TestTagVectors(t *testing.T) {
	for _, v := range tagVectors() {
		checkTag(t, v)
	}
}

func checkTag(t *testing.T, v tagVector) {
	t.Helper()
	d := newDomain(t, v.config)
	got, err := d.AppendTag(nil, v.tag)
	if err != nil || hex.EncodeToString(got) != v.wire {
		t.Errorf("AppendTag(%+v) = %x, %v, want %s", v.tag, got, err, v.wire)
	}
	tag, err := d.ParseTag(unhex(t, v.wire))
	if diff := cmp.Diff(v.tag, tag); diff != "" || err != nil {
		t.Errorf("ParseTag(%s): %v, difference (-want +got):\n%s", v.wire, err, diff)
	}
}

func TestReferenceVectors(t *testing.T) {
	type tag struct {
		T   uint8
		S   uint32
		LM  uint16
		D   int
		Hex string
	}
	var reference struct {
		Compact []tag                                       `json:"compact_uec050"`
		Draft   []tag                                       `json:"compact_ietf01"`
		Wide    []tag                                       `json:"wide_uec050"`
		Quant   []map[string]uint64                         `json:"wide_quant"`
		Tables  map[string][]any                            `json:"compact_tables"`
		Walk    map[string]struct{ Compact, Wide []string } `json:"sai_walk"`
	}
	text, err := io.ReadAll(checkout.Open(t, "reference/csig-vectors.json"))
	if err == nil {
		err = json.Unmarshal(text, &reference)
	}
	if err != nil {
		t.Fatal(err)
	}
	check := func(c Config, tags []tag) {
		if len(tags) == 0 {
			t.Errorf("%v %v: no vectors", c.Format, c.Dialect)
		}
		for _, v := range tags {
			checkTag(t, tagVector{c, Tag{Type: Type(v.T), Signal: v.S, Locator: v.LM, DoNotUpdate: v.D == 1}, v.Hex})
		}
	}
	check(Config{Format: FormatCompact}, reference.Compact)
	check(Config{Format: FormatCompact, Dialect: Draft01, TPIDCompact: 0x9900}, reference.Draft)
	check(Config{Format: FormatWide}, reference.Wide)
	for _, v := range reference.Quant {
		checkWideCode(t, wideVector{v["O"], v["bV"], uint(v["b"]), uint32(v["B"])})
	}
	for table, edges := range reference.Tables {
		checkTable(t, table, edges)
	}
	for name, walk := range reference.Walk {
		signal, err := ParseType(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(walk.Compact, goldenWalk(t, Config{Format: FormatCompact}, signal)); diff != "" {
			t.Errorf("compact walk of %v (-want +got):\n%s", signal, diff)
		}
		if diff := cmp.Diff(walk.Wide, goldenWalk(t, Config{Format: FormatWide}, signal)); diff != "" {
			t.Errorf("wide walk of %v (-want +got):\n%s", signal, diff)
		}
	}
}

func TestTagRoundTrip(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 0))
	for _, c := range layouts {
		d := newDomain(t, c)
		for range 2000 {
			b := make([]byte, c.Format.Size())
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			b[0], b[1] = byte(d.TPID()>>8), byte(d.TPID())
			tag, err := d.ParseTag(b)
			if err != nil {
				t.Fatalf("seed %d: ParseTag(%x): %v", seed, b, err)
			}
			if again, err := d.AppendTag(nil, tag); err != nil || !cmp.Equal(again, b) {
				t.Fatalf("seed %d: %x parses to %+v, which appends as %x, %v", seed, b, tag, again, err)
			}
		}
	}
}

func TestAppendTagRefuses(t *testing.T) {
	for _, test := range []struct {
		config Config
		tag    Tag
	}{
		{layouts[0], Tag{Type: 8}}, {layouts[0], Tag{Signal: 32}}, {layouts[0], Tag{Locator: 64}}, {layouts[0], Tag{Reserved: 2}},
		{layouts[1], Tag{Type: 16}}, {layouts[1], Tag{Signal: 1 << 20}}, {layouts[1], Tag{Locator: 1 << 15}},
		{layouts[2], Tag{Locator: 128}}, {layouts[2], Tag{DoNotUpdate: true}}, {layouts[3], Tag{DoNotUpdate: true}},
	} {
		d := newDomain(t, test.config)
		if b, err := d.AppendTag([]byte{1}, test.tag); !errors.Is(err, ErrTagField) || len(b) != 1 {
			t.Errorf("%v %v: AppendTag(%+v) = %x, %v, want ErrTagField", d.Format(), d.Dialect(), test.tag, b, err)
		}
	}
	if _, err := newDomain(t, Config{}).AppendTag(nil, Tag{}); !errors.Is(err, ErrNoTag) {
		t.Errorf("AppendTag without tags: %v, want ErrNoTag", err)
	}
}

func TestParseTagRefuses(t *testing.T) {
	d := newDomain(t, Config{Format: FormatWide})
	for _, text := range []string{"", "88b6", "88b60000200000", "88b50000200000ff", "0800000020000000"} {
		if tag, err := d.ParseTag(unhex(t, text)); !errors.Is(err, ErrNoTag) {
			t.Errorf("ParseTag(%s) = %+v, %v, want ErrNoTag", text, tag, err)
		}
	}
}

// docs/reference/references.md#worked-tags: 2B85 of draft-01 (S 23, LM 5) reads as
// S 23, LM 2 and a set D bit in uec-0.50.
func TestInteropTrap(t *testing.T) {
	b := unhex(t, "99002b85")
	uec := newDomain(t, Config{Format: FormatCompact, TPIDCompact: 0x9900})
	draft := newDomain(t, Config{Format: FormatCompact, TPIDCompact: 0x9900, Dialect: Draft01})
	got, _ := uec.ParseTag(b)
	if want := (Tag{Type: ABWC, Signal: 23, Locator: 2, DoNotUpdate: true}); got != want {
		t.Errorf("read as uec-0.50: %+v, want %+v", got, want)
	}
	if uec.Profile() == draft.Profile() {
		t.Errorf("uec-0.50 and draft-01 have the same profile, %08x", uec.Profile())
	}
}
