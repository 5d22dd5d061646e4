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

// stacks are the headers of csig-and-workloads.md 1.5 and what must be found.
// For the stacks with a tag, bare is the header without it.
var stacks = []struct {
	name, header, bare string
	want               Frame
	position           Position
}{
	{"untagged", macs + "88b549d20800", macs + "0800", Frame{Tag: 12, Format: FormatCompact, EtherType: 0x0800, L3: 18, STag: -1}, LastTag},
	{"802.1Q", macs + "8100606488b549d20800", macs + "810060640800", Frame{Tag: 16, Format: FormatCompact, EtherType: 0x0800, L3: 22, VLANs: 1, STag: -1}, LastTag},
	{"802.1ad A", macs + "88a860c888b549d2810060640800", macs + "88a860c8810060640800", Frame{Tag: 16, Format: FormatCompact, EtherType: 0x0800, L3: 26, VLANs: 2, STag: 12}, AfterSTag},
	{"802.1ad B", macs + "88a860c88100606488b549d20800", macs + "88a860c8810060640800", Frame{Tag: 20, Format: FormatCompact, EtherType: 0x0800, L3: 26, VLANs: 2, STag: 12}, LastTag},
	{"wide", macs + "88b6a08e200465000800", macs + "0800", Frame{Tag: 12, Format: FormatWide, EtherType: 0x0800, L3: 22, STag: -1}, LastTag},
	{"802.1AE", macs + "88e5000000000001" + "8100606488b549d20800", macs + "88e5000000000001810060640800",
		Frame{Tag: 24, Format: FormatCompact, EtherType: 0x0800, L3: 30, VLANs: 1, STag: -1, MACsec: true}, LastTag},
	{"802.1AE with SCI", macs + "88e52000000000010200000000010001" + "8100606488b6a08e2004650086dd", macs + "88e520000000000102000000000100018100606486dd",
		Frame{Tag: 32, Format: FormatWide, EtherType: 0x86dd, L3: 42, VLANs: 1, STag: -1, MACsec: true}, LastTag},
	{"old double tag", macs + "910060c88100606488b549d20800", macs + "910060c8810060640800", Frame{Tag: 20, Format: FormatCompact, EtherType: 0x0800, L3: 26, VLANs: 2, STag: -1}, LastTag},
	{"second tag", macs + "88b549d288b6a08e200465000800", "", Frame{Tag: 12, Format: FormatCompact, EtherType: 0x0800, L3: 26, STag: -1, Second: true}, LastTag},
	{"plain", macs + "0806", "", Frame{Tag: -1, EtherType: 0x0806, L3: 14, STag: -1}, LastTag},
	{"length", macs + "0026", "", Frame{Tag: -1, EtherType: 0x0026, L3: 14, STag: -1}, LastTag},
	{"encrypted", macs + "88e52c000000000102000000000100018100606488b549d2", "", Frame{Tag: -1, EtherType: 0x88e5, L3: 28, STag: -1, MACsec: true, Protected: true}, LastTag},
	{"unknown SecTAG version", macs + "88e5800000000001" + "8100606488b549d20800", "", Frame{Tag: -1, EtherType: 0x88e5, L3: 20, STag: -1, MACsec: true, Protected: true}, LastTag},
	{"two SecTAGs", macs + "88e5000000000001" + "88e5000000000001" + "0800", "", Frame{Tag: -1, EtherType: 0x88e5, L3: 28, STag: -1, MACsec: true, Protected: true}, LastTag},
}

func TestWalk(t *testing.T) {
	d := newDomain(t, Config{Format: FormatCompact})
	for _, s := range stacks {
		header := unhex(t, s.header)
		for _, tail := range []int{0, 50} {
			got, err := d.Walk(append(slices.Clone(header), make([]byte, tail)...))
			if diff := cmp.Diff(s.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", s.name, err, diff)
			}
		}
		// Every shorter frame is truncated, except where the cut is behind all
		// that is read of the frame.
		for n := range s.want.L3 {
			if got, err := d.Walk(header[:n]); !errors.Is(err, ErrTruncated) {
				t.Errorf("%s cut to %d of %d bytes: %+v, %v, want ErrTruncated", s.name, n, s.want.L3, got, err)
			}
		}
	}
	if _, err := d.Walk(unhex(t, macs+strings.Repeat("81000001", 9)+"0800")); !errors.Is(err, ErrTags) {
		t.Errorf("nine VLAN tags: %v, want ErrTags", err)
	}
	if f, err := d.Walk(unhex(t, macs+strings.Repeat("81000001", 8)+"0800")); err != nil || f.VLANs != 8 {
		t.Errorf("eight VLAN tags: %+v, %v", f, err)
	}
}

// The tag in a stack is read where Walk finds it, removing it leaves the bare
// stack, and inserting one puts it back where it was.
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
		bare, err := Strip(slices.Clone(header), s.want)
		if err != nil || hex.EncodeToString(bare) != s.bare {
			t.Errorf("%s: Strip = %x, %v, want %s", s.name, bare, err, s.bare)
		}
		f, err := d.Walk(bare)
		if err != nil || f.Tag != -1 || f.EtherType != s.want.EtherType {
			t.Errorf("%s: stripped header: %+v, %v", s.name, f, err)
		}
		again, err := d.Insert(bare, f, s.position, Delay)
		if err != nil {
			t.Fatal(err)
		}
		copy(again[s.want.Tag:], header[s.want.Tag:s.want.Tag+s.want.Format.Size()])
		if !bytes.Equal(again, header) {
			t.Errorf("%s: inserted tag: %x, want %x", s.name, again, header)
		}
		if _, err := d.Insert(header, s.want, s.position, Delay); !errors.Is(err, ErrTagged) {
			t.Errorf("%s: Insert into a tagged frame: %v, want ErrTagged", s.name, err)
		}
	}
}

func TestInsertAndStripRefuse(t *testing.T) {
	d := newDomain(t, Config{Format: FormatCompact})
	plain := unhex(t, macs+"0800")
	f, err := d.Walk(plain)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Strip(plain, f); !errors.Is(err, ErrNoTag) {
		t.Errorf("Strip of a plain frame: %v, want ErrNoTag", err)
	}
	if _, err := newDomain(t, Config{}).Insert(plain, f, LastTag, Delay); !errors.Is(err, ErrNoTag) {
		t.Errorf("Insert without tags: %v, want ErrNoTag", err)
	}
	if _, err := d.Insert(plain[:13], f, LastTag, Delay); !errors.Is(err, ErrTruncated) {
		t.Errorf("Insert into a cut header: %v, want ErrTruncated", err)
	}
	if _, err := Strip(plain[:13], Frame{Tag: 12, Format: FormatCompact}); !errors.Is(err, ErrTruncated) {
		t.Errorf("Strip of a cut header: %v, want ErrTruncated", err)
	}
	if _, err := d.Insert(plain, Frame{Tag: -1, L3: 14, Protected: true}, LastTag, Delay); !errors.Is(err, ErrProtected) {
		t.Errorf("Insert into ciphertext: %v, want ErrProtected", err)
	}
}

// Property (5) of csig-and-workloads.md 1.7: untagged stays untagged. A hop that
// walks a frame without a tag has nothing to update.
func TestUntaggedStaysUntagged(t *testing.T) {
	d := newDomain(t, Config{Format: FormatCompact})
	frame := unhex(t, macs+"0800"+"4500001c000000004011000000000000")
	before := slices.Clone(frame)
	f, err := d.Walk(frame)
	if err != nil || f.Tag != -1 {
		t.Fatalf("Walk: %+v, %v", f, err)
	}
	if o := d.Update(frame[f.L3-2:], 1, 1); o != Unknown || !bytes.Equal(frame, before) {
		t.Errorf("Update at the EtherType of an untagged frame: %v, %x, want unknown, %x", o, frame, before)
	}
}
