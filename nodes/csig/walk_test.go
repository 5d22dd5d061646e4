package csig

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const macs = "020000000002020000000001"

// stacks are the headers of docs/reference/references.md#tag-position, and more, and what must be found.
// For the stacks with a tag, bare is the header without it, and inserted the header
// with the tag put on again, where that is another place.
var stacks = []struct {
	name, header, bare, inserted string
	want                         Frame
	hidden                       int // bytes that are read of the frame behind want.L3
}{
	{name: "untagged", header: macs + "88b549d20800", bare: macs + "0800",
		want: Frame{Tag: 12, Format: FormatCompact, EtherType: 0x0800, L3: 18}},
	{name: "802.1Q", header: macs + "8100606488b549d20800", bare: macs + "810060640800",
		want: Frame{Tag: 16, Format: FormatCompact, EtherType: 0x0800, L3: 22}},
	{name: "802.1ad A", header: macs + "88a860c888b549d2810060640800", bare: macs + "88a860c8810060640800", inserted: macs + "88a860c88100606488b549d20800",
		want: Frame{Tag: 16, Format: FormatCompact, EtherType: 0x0800, L3: 26}},
	{name: "802.1ad B", header: macs + "88a860c88100606488b549d20800", bare: macs + "88a860c8810060640800",
		want: Frame{Tag: 20, Format: FormatCompact, EtherType: 0x0800, L3: 26}},
	{name: "wide", header: macs + "88b6a08e200465000800", bare: macs + "0800",
		want: Frame{Tag: 12, Format: FormatWide, EtherType: 0x0800, L3: 22}},
	{name: "802.1AE", header: macs + "88e5000000000001" + "8100606488b549d20800", bare: macs + "88e5000000000001810060640800",
		want: Frame{Tag: 24, Format: FormatCompact, EtherType: 0x0800, L3: 30, MACsec: true}},
	{name: "802.1AE with SCI", header: macs + "88e52000000000010200000000010001" + "8100606488b6a08e2004650086dd", bare: macs + "88e520000000000102000000000100018100606486dd",
		want: Frame{Tag: 32, Format: FormatWide, EtherType: 0x86dd, L3: 42, MACsec: true}},
	{name: "old double tag", header: macs + "910060c88100606488b549d20800", bare: macs + "910060c8810060640800",
		want: Frame{Tag: 20, Format: FormatCompact, EtherType: 0x0800, L3: 26}},
	{name: "second tag", header: macs + "88b549d288b6a08e200465000800",
		want: Frame{Tag: 12, Format: FormatCompact, EtherType: 0x0800, L3: 26, Second: true, More: 8}},
	{name: "plain", header: macs + "0806", want: Frame{EtherType: 0x0806, L3: 14}},
	{name: "length", header: macs + "0026", want: Frame{EtherType: 0x0026, L3: 14}},
	{name: "encrypted", header: macs + "88e52c000000000102000000000100018100606488b549d2",
		want: Frame{EtherType: 0x88e5, L3: 14, MACsec: true}, hidden: 14},
	{name: "encrypted behind a tag", header: macs + "88b549d288e50c00000000018100606488b549d2", bare: macs + "88e50c00000000018100606488b549d2",
		want: Frame{Tag: 12, Format: FormatCompact, EtherType: 0x88e5, L3: 18, MACsec: true}, hidden: 6},
	{name: "unknown SecTAG version", header: macs + "88e5800000000001" + "8100606488b549d20800",
		want: Frame{EtherType: 0x88e5, L3: 14, MACsec: true}, hidden: 6},
	{name: "two SecTAGs", header: macs + "88e5000000000001" + "88e5000000000001" + "0800",
		want: Frame{EtherType: 0x88e5, L3: 22, MACsec: true}, hidden: 6},
}

// walk returns what the tags of the domain's TPIDs are in a frame.
func walk(d *Domain, frame []byte) (f Frame, err error) {
	c := d.Config()
	err = TPIDs{Compact: c.TPIDCompact, Wide: c.TPIDWide}.Walk(frame, &f)
	return f, err
}

func TestWalk(t *testing.T) {
	d := newDomain(t, Config{Format: FormatCompact})
	for _, s := range stacks {
		header := unhex(t, s.header)
		for _, tail := range []int{0, 50} {
			got, err := walk(d, append(slices.Clone(header), make([]byte, tail)...))
			if diff := cmp.Diff(s.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", s.name, err, diff)
			}
		}
		// Every shorter frame is truncated, except where the cut is behind all
		// that is read of the frame.
		whole := int(s.want.L3) + s.hidden
		for n := range whole {
			got, err := walk(d, header[:n])
			if !errors.Is(err, ErrTruncated) {
				t.Errorf("%s cut to %d of %d bytes: %+v, %v, want ErrTruncated", s.name, n, whole, got, err)
			}
			// What is described is there, and a tag only if it is whole.
			if n >= 14 && (int(got.L3) > n || int(got.Tag)+got.Format.Size() > int(got.L3)-2) {
				t.Errorf("%s cut to %d of %d bytes: %+v is beyond them", s.name, n, whole, got)
			}
		}
	}
	for _, test := range []struct {
		header string
		want   Frame
		err    error
	}{
		{strings.Repeat("81000001", 9) + "0800", Frame{EtherType: 0x8100, L3: 46}, ErrTags},
		{strings.Repeat("81000001", 8) + "0800", Frame{EtherType: 0x0800, L3: 46}, nil},
		// The first CSIG tag is not counted, so that one that is inserted is always found.
		{"88b549d2" + strings.Repeat("81000001", 9) + "0800", Frame{Tag: 12, Format: FormatCompact, EtherType: 0x8100, L3: 50}, ErrTags},
		{strings.Repeat("81000001", 8) + "88b549d20800", Frame{Tag: 44, Format: FormatCompact, EtherType: 0x0800, L3: 50}, nil},
		{strings.Repeat("88b549d2", 10) + "0800", Frame{Tag: 12, Format: FormatCompact, EtherType: 0x88b5, L3: 50, Second: true, More: 32}, ErrTags},
	} {
		got, err := walk(d, unhex(t, macs+test.header))
		if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v (-want +got):\n%s", test.header, err, test.err, diff)
		}
	}
}

// A fabric without a TPID has no tag of that format, whatever a frame holds.
func TestWalkWithoutTPIDs(t *testing.T) {
	for _, test := range []struct {
		tpids TPIDs
		text  string
		want  Frame
	}{
		{TPIDs{}, "88b549d20800", Frame{EtherType: 0x88b5, L3: 14}},
		{TPIDs{}, "0000000000000800", Frame{L3: 14}},
		{TPIDs{Wide: 0x88b6}, "88b549d20800", Frame{EtherType: 0x88b5, L3: 14}},
		{TPIDs{Wide: 0x88b6}, "88b6a08e200465000800", Frame{Tag: 12, Format: FormatWide, EtherType: 0x0800, L3: 22}},
	} {
		var got Frame
		if err := test.tpids.Walk(unhex(t, macs+test.text), &got); err != nil || got != test.want {
			t.Errorf("%+v, %s: %+v, %v, want %+v", test.tpids, test.text, got, err, test.want)
		}
	}
}

// The tag in a stack is read where Walk finds it, removing it leaves the bare
// stack, and inserting one puts it back as the last tag.
func TestInsertAndStrip(t *testing.T) {
	for _, s := range stacks {
		if s.bare == "" {
			continue
		}
		d := newDomain(t, Config{Format: s.want.Format})
		header := unhex(t, s.header)
		tag, err := d.ParseTag(header[s.want.Tag:])
		if err != nil || tag.Type != Delay {
			t.Errorf("%s: ParseTag: %+v, %v, want a delay tag", s.name, tag, err)
		}
		tagBytes := header[s.want.Tag:][:s.want.Format.Size()]
		f := s.want
		bare, err := f.Strip(slices.Clone(header))
		if err != nil || hex.EncodeToString(bare) != s.bare {
			t.Errorf("%s: Strip = %x, %v, want %s", s.name, bare, err, s.bare)
		}
		again, err := walk(d, bare)
		if err != nil || again.Tag != 0 || again != f || f.EtherType != s.want.EtherType {
			t.Errorf("%s: stripped header: %+v, %v, described as %+v", s.name, again, err, f)
		}
		longer, err := f.Insert(bare, s.want.Format)
		if err != nil {
			t.Fatal(err)
		}
		copy(longer[f.Tag:], tagBytes)
		if s.inserted == "" {
			s.inserted = s.header
		}
		if hex.EncodeToString(longer) != s.inserted {
			t.Errorf("%s: inserted tag: %x, want %s", s.name, longer, s.inserted)
		}
		if again, err = walk(d, longer); err != nil || again != f {
			t.Errorf("%s: with the inserted tag: %+v, %v, described as %+v", s.name, again, err, f)
		}
		f = s.want
		if _, err := f.Insert(header, s.want.Format); !errors.Is(err, ErrTagged) || f != s.want {
			t.Errorf("%s: Insert into a tagged frame: %v, want ErrTagged", s.name, err)
		}
	}
}

func TestInsertAndStripRefuse(t *testing.T) {
	plain := unhex(t, macs+"0800")
	f := Frame{EtherType: 0x0800, L3: 14}
	if _, err := f.Strip(plain); !errors.Is(err, ErrNoTag) {
		t.Errorf("Strip of a plain frame: %v, want ErrNoTag", err)
	}
	if _, err := f.Insert(plain, FormatNone); !errors.Is(err, ErrNoTag) {
		t.Errorf("Insert without tags: %v, want ErrNoTag", err)
	}
	if _, err := f.Insert(plain[:13], FormatCompact); !errors.Is(err, ErrTruncated) {
		t.Errorf("Insert into a cut header: %v, want ErrTruncated", err)
	}
	cut := Frame{Tag: 12, Format: FormatCompact, L3: 18}
	if _, err := cut.Strip(plain[:13]); !errors.Is(err, ErrTruncated) {
		t.Errorf("Strip of a cut header: %v, want ErrTruncated", err)
	}
	if want := (Frame{EtherType: 0x0800, L3: 14}); f != want {
		t.Errorf("what refused changed the description to %+v", f)
	}
}

// Nothing is inserted into ciphertext: the tag goes in front of the SecTAG.
func TestInsertLeavesCiphertextAlone(t *testing.T) {
	const ciphertext = "88e52c000000000102000000000100018100606488b549d2"
	d := newDomain(t, Config{Format: FormatCompact})
	header := unhex(t, macs+ciphertext)
	f, err := walk(d, header)
	if err != nil {
		t.Fatal(err)
	}
	longer, err := f.Insert(header, FormatCompact)
	if err != nil {
		t.Fatal(err)
	}
	d.Init(longer[f.Tag:], Delay)
	if want := macs + "88b54000" + ciphertext; hex.EncodeToString(longer) != want {
		t.Errorf("tagged: %x, want %s", longer, want)
	}
	if again, err := walk(d, longer); err != nil || again != f || !f.MACsec {
		t.Errorf("Walk: %+v, %v, described as %+v", again, err, f)
	}
}

// Property (5) of docs/reference/references.md#hop-update: untagged stays untagged. A hop that
// walks a frame without a tag has nothing to update.
func TestUntaggedStaysUntagged(t *testing.T) {
	d := newDomain(t, Config{Format: FormatCompact})
	frame := unhex(t, macs+"0800"+"4500001c000000004011000000000000")
	before := slices.Clone(frame)
	f, err := walk(d, frame)
	if err != nil || f.Tag != 0 {
		t.Fatalf("Walk: %+v, %v", f, err)
	}
	if o := d.Update(frame[f.L3-2:], 1, 1); o != Unknown || !bytes.Equal(frame, before) {
		t.Errorf("Update at the EtherType of an untagged frame: %v, %x, want unknown, %x", o, frame, before)
	}
}
