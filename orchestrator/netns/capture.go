package netns

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/netio"
)

// tap writes the frames of one interface to a file until it is closed.
type tap struct {
	conn   *netio.Packet
	file   *os.File
	stop   chan struct{}
	done   chan error
	frames int64
}

func openTap(d *deployment, f *Fabric) (*tap, error) {
	end := f.Graph.Links[f.Capture.Link].A
	t := &tap{stop: make(chan struct{}), done: make(chan error, 1)}
	in := &d.spaces[end.Node]
	err := in.within(func() (err error) {
		t.conn, err = netio.OpenTap(in.indices[end.Port], f.maxFrame())
		return err
	})
	if err == nil {
		t.file, err = os.Create(f.Capture.File)
	}
	if err != nil {
		return nil, fmt.Errorf("capture link %s: %w", f.Graph.LinkName(f.Capture.Link), err)
	}
	go func() { t.done <- t.write(f.maxFrame()) }()
	return t, nil
}

// tapWait is how long the tap waits for a frame before it looks whether it is to
// stop.
const tapWait = 20 * time.Millisecond

func (t *tap) write(maxFrame int) error {
	buffered := bufio.NewWriterSize(t.file, 1<<20)
	w := pcapgo.NewWriterNanos(buffered)
	if err := w.WriteFileHeader(uint32(maxFrame), layers.LinkTypeEthernet); err != nil {
		return err
	}
	batch := make([]netio.Frame, 64)
	for stopping := false; ; {
		select {
		case <-t.stop:
			stopping = true
		default:
		}
		n, err := t.conn.Receive(batch, tapWait)
		if err != nil {
			return errors.Join(err, buffered.Flush())
		}
		if n == 0 && stopping {
			return buffered.Flush()
		}
		for _, f := range batch[:n] {
			at, ok := emu.Arrival(f.Data)
			if !ok {
				continue
			}
			t.frames++
			info := gopacket.CaptureInfo{Timestamp: time.Unix(0, int64(at)/1000), CaptureLength: len(f.Data), Length: len(f.Data)}
			if err := w.WritePacket(info, f.Data); err != nil {
				return err
			}
		}
	}
}

// close ends the capture and returns how many frames it has and how many it
// missed.
func (t *tap) close() (frames, missed int64, err error) {
	close(t.stop)
	err = <-t.done
	missed, dropsErr := t.conn.Drops()
	err = errors.Join(err, dropsErr, t.conn.Close(), t.file.Close())
	if err != nil {
		err = fmt.Errorf("capture %s: %w", t.file.Name(), err)
	}
	return t.frames, missed, err
}
