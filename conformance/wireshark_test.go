package conformance_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/capture/capturetest"
)

// TestSecondDecoder reads the captures with tshark and csiglab's dissector in Lua, and compares
// the fields of all tags with what the vectors say.
func TestSecondDecoder(t *testing.T) {
	for name, f := range generate(t) {
		t.Run(name, func(t *testing.T) {
			d := f.Vectors[0].Device
			setup := f.Devices[d]
			for id, other := range f.Devices { // one set of preferences is for the whole file
				for format, x := range other.Formats {
					if other.Dialect != setup.Dialect || x.TPID != setup.Formats[format].TPID {
						t.Fatalf("devices %q and %q have other dialects or TPIDs", d, id)
					}
				}
			}
			options := []string{"-o", "csig.dialect:" + setup.Dialect, "-o", "csig.tpid_compact:" + setup.Formats["compact"].TPID, "-o", "csig.tpid_wide:" + setup.Formats["wide"].TPID}
			rows := capturetest.Tshark(t, filepath.Join("vectors", name+".pcapng"), options,
				"frame.interface_name", "frame.len", "csig.format", "csig.t", "csig.s", "csig.lm", "csig.d", "csig.r")
			names, frames := f.Frames()
			if len(rows) != len(frames) {
				t.Fatalf("tshark reads %d frames of %d", len(rows), len(frames))
			}
			tags := 0
			for i, x := range frames {
				want := make([][]string, 6)
				for _, tag := range x.Tags {
					format := map[string]string{"compact": "1", "wide": "2"}[tag.Format]
					for k, v := range []string{format, fmt.Sprint(tag.Type), fmt.Sprint(tag.Signal), fmt.Sprint(tag.Locator), map[bool]string{true: "1", false: "0"}[tag.D], fmt.Sprintf("0x%02x", tag.Reserved)} {
						if k != 4 || setup.Dialect != "draft-01" {
							want[k] = append(want[k], v)
						}
					}
					tags++
				}
				row := []string{names[i], fmt.Sprint(len(x.Bytes))}
				for _, values := range want {
					row = append(row, strings.Join(values, ","))
				}
				if diff := cmp.Diff(rows[i], row); diff != "" {
					t.Errorf("%s: interface, length, format, t, s, lm, d, r: tshark - vector +:\n%s\n%x", names[i], diff, x.Bytes)
				}
			}
			t.Logf("%d frames, %d tags", len(frames), tags)
		})
	}
}
