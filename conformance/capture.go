package conformance

import (
	"fmt"
	"io"

	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Frames returns all frames of a file, of each vector those that come in and then those that must
// come out, with the names of their interfaces in captures.
func (f *File) Frames() (names []string, frames []Frame) {
	for i := range f.Vectors {
		v := &f.Vectors[i]
		for _, x := range v.In {
			names, frames = append(names, v.ID+" in"), append(frames, x)
		}
		for _, x := range v.Out {
			names, frames = append(names, v.ID+" out"), append(frames, x)
		}
	}
	return names, frames
}

// WriteCapture writes the frames of a file as pcapng.
func (f *File) WriteCapture(out io.Writer) error {
	names, frames := f.Frames()
	return writeCapture(out, f.About, names, frames)
}

// writeCapture writes frames as pcapng, in their order, each at an interface of its name. Frame i
// has the time i microseconds, so that the files of vectors have one order.
func writeCapture(out io.Writer, comment string, names []string, frames []Frame) error {
	var ports []capture.Port
	place := map[string]int{}
	for _, name := range names {
		if _, ok := place[name]; !ok {
			place[name] = len(ports)
			ports = append(ports, capture.Port{Port: len(ports), Name: name})
		}
	}
	w, err := capture.NewWriter(out, capture.Config{Ports: ports, Format: wire.Format{Raw: true}, Comment: comment})
	if err != nil {
		return err
	}
	for i, f := range frames {
		w.Write(capture.Record{At: units.Time(i) * units.Time(units.Microsecond), Port: place[names[i]], Frame: f.Bytes, Length: len(f.Bytes)})
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	return nil
}
