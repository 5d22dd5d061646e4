package campaign

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/netio"
)

// foreignSwitch names in the environment that the test binary is a switch between p0 and p1.
const foreignSwitch = "CSIGLAB_TEST_FOREIGN_SWITCH"

// runForeignSwitch forwards frames. Of five in a row with a wide tag it leaves one as it is, updates one,
// changes the type of one, removes one tag and drops one frame.
func runForeignSwitch() error {
	var indices []int
	for _, name := range []string{"p0", "p1"} {
		i, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		indices = append(indices, i.Index)
	}
	conn, err := netio.OpenPacket(indices, 2048)
	if err != nil {
		return err
	}
	batch, tagged := make([]netio.Frame, 64), 0
	for {
		n, err := conn.Receive(batch, time.Second)
		if err != nil {
			return err
		}
		for _, f := range batch[:n] {
			frame := append([]byte{}, f.Data...)
			if len(frame) > 22 && binary.BigEndian.Uint16(frame[12:]) == 0x88b6 {
				switch tagged++; tagged % 5 {
				case 1:
					binary.BigEndian.PutUint16(frame[14:], 6<<1)                                              // locator 6
					binary.BigEndian.PutUint32(frame[16:], binary.BigEndian.Uint32(frame[16:])&^(0xfffff<<8)) // none available
				case 2:
					frame[16] ^= 0x10
				case 3:
					frame = append(frame[:12], frame[20:]...)
				case 4:
					continue
				}
			}
			if err := conn.Send([]netio.Message{{Port: 1 - f.Port, Header: frame, Droppable: true}}); err != nil {
				return err
			}
		}
	}
}

// What a foreign switch does to tags is counted by port, and so are the frames that it loses.
func TestForeignSwitchAndTags(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	nodes := fmt.Sprintf(`{name: agg0, startup: ['sh -c "%s=1 %s >/dev/null 2>&1 & sleep 0.5"']}`, foreignSwitch, program)
	f, notes := foreignRun(t, foreignText(t, nodes, generated))
	metrics := f.Summary.Variants["run"].Runs[0].Metrics
	for name, want := range map[string]float64{"untouched": 20, "updated": 20, "damaged": 20, "removed": 20, "added": 0} {
		if got := metrics["foreign_tags."+name+".agg0-tor1"]; got != want {
			t.Errorf("%v frames %s, want %v", got, name, want)
		}
		if got, there := metrics["foreign_tags."+name+".agg0-tor0"]; got != 0 || !there {
			t.Errorf("%v frames the other way are %s, %v", got, name, there)
		}
	}
	if got := metrics["foreign_lost.agg0"]; got != 20 {
		t.Errorf("%v frames lost, want 20", got)
	}
	if want := "of 100 frames to it that were looked at 20 did not come out; tags out of agg0-tor1: 20 untouched, 20 updated, 20 damaged, 20 removed"; !strings.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}
