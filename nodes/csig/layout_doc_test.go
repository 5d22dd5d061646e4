package csig

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
)

// docField is a field of a layout in the table of bits in docs/reference/wire.md.
type docField struct {
	bit, width int
	name       string
}

type docLayout struct{ format, dialect string }

// docSection returns the section of docs/reference/wire.md on the tag.
func docSection(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## CSIG tag\n")
	section, _, end := strings.Cut(section, "\n## ")
	if !found || !end {
		t.Fatal("docs/reference/wire.md has no section CSIG tag")
	}
	return section
}

// cells returns the cells of the rows of a table with the given first cells of its head.
func cells(t *testing.T, section, head string) (rows [][]string) {
	t.Helper()
	_, table, found := strings.Cut(section, head)
	if !found {
		t.Fatalf("docs/reference/wire.md has no table %s", head)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n")[2:] {
		row := strings.Split(strings.Trim(line, "|"), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		rows = append(rows, row)
	}
	return rows
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// docLayouts reads the table of bits; the fields of a layout are in the order of the wire.
func docLayouts(t *testing.T) map[docLayout][]docField {
	names := []string{"TPID", "T", "R", "S", "LM", "D"}
	layouts := map[docLayout][]docField{}
	for _, row := range cells(t, docSection(t), "| format | dialect | "+strings.Join(names, " | ")+" |") {
		var fields []docField
		for i, bits := range row[2:] {
			if bits == "" {
				continue // the dialect has no such field
			}
			first, last, several := strings.Cut(bits, "-")
			if !several {
				last = first
			}
			from := number(t, first)
			fields = append(fields, docField{from, number(t, last) - from + 1, names[i]})
		}
		slices.SortFunc(fields, func(a, b docField) int { return cmp.Compare(a.bit, b.bit) })
		layouts[docLayout{row[0], row[1]}] = fields
	}
	return layouts
}

// mask returns the bits of a tag of some length that a field takes.
func (f docField) mask(length int) uint64 { return (1<<f.width - 1) << (length - f.bit - f.width) }

// Each field that docs/reference/wire.md lists is where AppendTag writes it, bit by bit, and the
// fields leave no gap.
func TestDocumentedLayout(t *testing.T) {
	docs := docLayouts(t)
	if len(docs) != len(layouts) {
		t.Errorf("docs/reference/wire.md has %d layouts, want %d", len(docs), len(layouts))
	}
	for _, c := range layouts {
		*map[Format]*uint16{FormatCompact: &c.TPIDCompact, FormatWide: &c.TPIDWide}[c.Format] = 0xffff
		d := newDomain(t, c)
		at, length := docLayout{c.Format.String(), c.Dialect.String()}, 8*c.Format.Size()
		end := 0
		for _, f := range docs[at] {
			if f.bit != end {
				t.Errorf("%v: %s begins at bit %d, the field before it ends at %d", at, f.name, f.bit, end)
			}
			end = f.bit + f.width
			ones := 1<<f.width - 1
			tag, most := Tag{}, true // whether a greater value is refused
			switch f.name {
			case "TPID":
				most = false
			case "T":
				tag.Type = Type(ones)
				most = refused(d, Tag{Type: Type(ones + 1)})
			case "R":
				tag.Reserved = uint8(ones)
				most = f.width == 8 || refused(d, Tag{Reserved: uint8(ones + 1)})
			case "S":
				tag.Signal = uint32(ones)
				most = refused(d, Tag{Signal: uint32(ones + 1)})
			case "LM":
				tag.Locator = uint16(ones)
				most = f.width == 16 || refused(d, Tag{Locator: uint16(ones + 1)})
			case "D":
				tag.DoNotUpdate = true
			default:
				t.Fatalf("%v: unknown field %q", at, f.name)
			}
			if f.name != "TPID" && !most {
				t.Errorf("%v: %s has more than the documented %d bits", at, f.name, f.width)
			}
			want := docs[at][0].mask(length) // the TPID is all ones
			if want |= f.mask(length); bitsOf(t, d, tag) != want {
				t.Errorf("%v: %s of all ones is %#x, want %#x", at, f.name, bitsOf(t, d, tag), want)
			}
		}
		if end != length {
			t.Errorf("%v: documented length %d bits, want %d", at, end, length)
		}
	}
}

func refused(d *Domain, tag Tag) bool {
	_, err := d.AppendTag(nil, tag)
	return err != nil
}

// bitsOf returns a tag on the wire as a number.
func bitsOf(t *testing.T, d *Domain, tag Tag) uint64 {
	t.Helper()
	b, err := d.AppendTag(nil, tag)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) == 4 {
		return uint64(binary.BigEndian.Uint32(b))
	}
	return binary.BigEndian.Uint64(b)
}

// The fields of a structured locator are as documented.
func TestDocumentedLocator(t *testing.T) {
	rows := cells(t, docSection(t), "| format | dialect | tier | direction |")
	if len(rows) != len(layouts) {
		t.Errorf("docs/reference/wire.md has locators of %d layouts, want %d", len(rows), len(layouts))
	}
	for _, row := range rows {
		c := Config{}
		var err error
		if c.Format, err = ParseFormat(row[0]); err != nil {
			t.Fatal(err)
		}
		if c.Dialect, err = ParseDialect(row[1]); err != nil {
			t.Fatal(err)
		}
		tier, dir, sw, port := number(t, row[2]), number(t, row[3]), number(t, row[4]), number(t, row[5])
		if sum := tier + dir + sw + port; sum != LocatorBits(c.Format, c.Dialect) {
			t.Errorf("%v: the fields have %d bits, the locator %d", row, sum, LocatorBits(c.Format, c.Dialect))
		}
		for _, p := range []Place{
			{Tier: TierToR, Dir: Down, Port: 1}, {Tier: TierAgg, Dir: Up, Port: 2, Switch: 1<<sw - 1}, {Tier: TierCore, Dir: Down, Port: 1<<port - 1},
			{Tier: TierOther, Dir: Up, Port: 1},
		} {
			p.Rate = 100 * units.Gbps
			got, err := newDomain(t, c).Locators().Locator(p)
			if err != nil {
				t.Fatal(err)
			}
			want := ((int(p.Tier)<<dir|int(p.Dir))<<sw|p.Switch)<<port | p.Port
			if int(got) != want {
				t.Errorf("%v: %v has the locator %s, want %s", row, p, fmt.Sprintf("%b", got), fmt.Sprintf("%b", want))
			}
		}
	}
}
