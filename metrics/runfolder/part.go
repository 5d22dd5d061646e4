package runfolder

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/metrics"
)

// The folder of the parts exists until the run folder is complete. Each run has a part:
// VARIANT-SEED.begun while it goes on, VARIANT-SEED.run once it has finished. Parts are
// what a resumed run starts from: the tables are made of them.
const (
	partsFolder = "parts"
	begunSuffix = ".begun"
	runSuffix   = ".run"
)

// partBlock is the number of bytes of a part that are compressed together.
const partBlock = 64 << 10

// partCodec compresses the blocks of all parts.
var partCodec = zstd.Codec{Level: zstd.SpeedFastest}

// partName returns the name of a run's part in the run folder.
func partName(variant string, seed uint64, suffix string) string {
	return path.Join(partsFolder, fmt.Sprintf("%s-%d%s", variant, seed, suffix))
}

// runOfPart returns the run that a file of the folder of parts belongs to; ok is false if
// it is no part of a finished run.
func runOfPart(file string) (key runKey, ok bool) {
	name, ok := strings.CutSuffix(file, runSuffix)
	at := strings.LastIndex(name, "-")
	if !ok || at < 0 {
		return key, false
	}
	seed, err := strconv.ParseUint(name[at+1:], 10, 64)
	return runKey{name[:at], seed}, err == nil
}

// partItem is one message of a part; exactly one field is set. The last message has End. If
// the flows are not the variant's, the first one has Flows.
type partItem struct {
	Flows []Flow
	Batch *metrics.Batch // windows only
	Node  *metrics.NodeTotals
	End   *partEnd
}

// partEnd is the last message of a part.
type partEnd struct {
	Run     []byte // JSON of a Run, without its flows
	Metrics map[string]float64
	Matched map[string]float64 // as RunMetrics.Matched
}

// partWriter writes a part: gob messages, cut into blocks of partBlock bytes. A block is
// the length of its compressed bytes in 4 bytes, little-endian, and these bytes. A block
// of length 0 and the SHA-256 of all bytes before it end the file.
type partWriter struct {
	create   func() (*os.File, error) // nil: it is closed
	file     *os.File                 // nil before the first block
	messages *gob.Encoder
	sum      hash.Hash
	size     int64  // bytes that are written
	raw      []byte // not yet compressed
	packed   []byte
}

// newPartWriter returns the writer of a part, whose file create makes when it is needed.
func newPartWriter(create func() (*os.File, error)) *partWriter {
	p := &partWriter{create: create, sum: sha256.New()}
	p.messages = gob.NewEncoder(p)
	return p
}

// open makes the file. It may be repeated.
func (p *partWriter) open() (err error) {
	if p.file == nil {
		p.file, err = p.create()
	}
	return err
}

// Write takes the bytes of the gob encoder.
func (p *partWriter) Write(b []byte) (int, error) {
	p.raw = append(p.raw, b...)
	for len(p.raw) >= partBlock {
		if err := p.block(p.raw[:partBlock]); err != nil {
			return 0, err
		}
		p.raw = p.raw[:copy(p.raw, p.raw[partBlock:])]
	}
	return len(b), nil
}

// block compresses and writes one block.
func (p *partWriter) block(raw []byte) (err error) {
	if p.packed, err = partCodec.Encode(p.packed, raw); err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(p.packed)))
	return errors.Join(p.write(head), p.write(p.packed))
}

func (p *partWriter) write(b []byte) error {
	if err := p.open(); err != nil {
		return err
	}
	p.sum.Write(b) // cannot fail
	p.size += int64(len(b))
	_, err := p.file.Write(b)
	return err
}

// flows writes the flows of the run. Nothing stands before them.
func (p *partWriter) flows(flows []Flow) error {
	return p.messages.Encode(partItem{Flows: flows})
}

// windows writes a batch of windows.
func (p *partWriter) windows(b *metrics.Batch) error { return p.messages.Encode(partItem{Batch: b}) }

// end writes the totals and the end, and closes the file.
func (p *partWriter) end(run *Run, values, matched map[string]float64, nodes []metrics.NodeTotals) error {
	for i := range nodes {
		if err := p.messages.Encode(partItem{Node: &nodes[i]}); err != nil {
			return err
		}
	}
	only := *run
	only.Flows = nil
	text, err := json.Marshal(only)
	if err != nil {
		return err
	}
	if err := p.messages.Encode(partItem{End: &partEnd{Run: text, Metrics: values, Matched: matched}}); err != nil {
		return err
	}
	return p.finish()
}

// finish writes what is left and the digest, and closes the file. It may be repeated.
func (p *partWriter) finish() error {
	if p.create == nil {
		return nil
	}
	if len(p.raw) > 0 {
		if err := p.block(p.raw); err != nil {
			return err
		}
	}
	if err := p.write(make([]byte, 4)); err != nil {
		return err
	}
	if _, err := p.file.Write(p.sum.Sum(nil)); err != nil {
		return err
	}
	return p.close()
}

// close closes the file, which may be incomplete. It may be repeated.
func (p *partWriter) close() (err error) {
	if p.file != nil {
		err = p.file.Close()
	}
	p.create, p.file, p.messages, p.raw, p.packed = nil, nil, nil, nil, nil
	return err
}

// partReader returns the gob bytes of a part.
type partReader struct {
	file   io.Reader
	raw    []byte // not yet read
	packed []byte
}

func (p *partReader) Read(b []byte) (int, error) {
	for len(p.raw) == 0 {
		var head [4]byte
		if _, err := io.ReadFull(p.file, head[:]); err != nil {
			return 0, io.ErrUnexpectedEOF
		}
		n := binary.LittleEndian.Uint32(head[:])
		if n == 0 {
			return 0, io.EOF
		}
		if n > 2*partBlock {
			return 0, fmt.Errorf("a block of %d bytes", n)
		}
		p.packed = append(p.packed[:0], make([]byte, n)...)
		if _, err := io.ReadFull(p.file, p.packed); err != nil {
			return 0, io.ErrUnexpectedEOF
		}
		var err error
		if p.raw, err = partCodec.Decode(p.raw[:0], p.packed); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.raw)
	p.raw = p.raw[n:]
	return n, nil
}

// partAhead is how many messages of a part are decoded ahead of the one that is read.
const partAhead = 16

// decoded is a message of a part, or why there is none.
type decoded struct {
	item  partItem
	batch metrics.Batch // memory of item
	err   error
}

// next decodes the next message. It reports whether there may be another one.
func (d *decoded) next(messages *gob.Decoder) bool {
	empty(&d.batch)
	d.item = partItem{Batch: &d.batch}
	d.err = messages.Decode(&d.item)
	return d.err == nil && d.item.End == nil
}

// readPart reads a part to its end: flows gets the flows of the run if they are not the
// variant's, and then windows each batch, which is valid until it returns. The totals of
// nodes are in node order. The error is io.EOF after the last batch of a file that has batches
// alone. Another goroutine reads file ahead, and has ended when readPart returns.
func readPart(file io.Reader, flows func([]Flow), windows func(*metrics.Batch) error) (f FinishedRun, nodes []metrics.NodeTotals, err error) {
	ahead, free := make(chan *decoded, partAhead), make(chan *decoded, partAhead)
	for range partAhead {
		free <- new(decoded)
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		messages := gob.NewDecoder(&partReader{file: file})
		for d := range free {
			more := d.next(messages)
			if ahead <- d; !more {
				return
			}
		}
	})
	defer reader.Wait()
	defer close(free)
	var own []Flow
	for {
		d := <-ahead
		switch item := &d.item; {
		case d.err != nil:
			return f, nil, d.err
		case item.Flows != nil:
			own = item.Flows
			flows(own)
		case item.Node != nil:
			nodes = append(nodes, *item.Node)
		case item.End != nil:
			f, err := item.End.finished()
			f.Run.Flows = own
			return f, nodes, err
		default:
			if err := windows(item.Batch); err != nil {
				return f, nil, err
			}
		}
		free <- d
	}
}

// empty empties a batch for gob, which writes into the memory of its lists and leaves out
// zeros: all of that memory becomes zero.
func empty(b *metrics.Batch) {
	v := reflect.ValueOf(b).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Slice {
			f.SetZero()
			continue
		}
		f.SetLen(f.Cap())
		f.Clear()
		f.SetLen(0)
	}
}

// finished returns the run that a part's end describes.
func (e *partEnd) finished() (f FinishedRun, err error) {
	if err := json.Unmarshal(e.Run, &f.Run); err != nil {
		return f, err
	}
	f.Metrics = RunMetrics{Variant: f.Run.Variant, Seed: f.Run.Seed, Metrics: e.Metrics, Matched: e.Matched}
	if f.Metrics.Metrics == nil { // gob leaves out an empty map
		f.Metrics.Metrics = map[string]float64{}
	}
	hash, err := hex.DecodeString(f.Run.TraceHash)
	copy(f.Metrics.TraceHash[:], hash)
	return f, err
}

// checkPart compares a part with the digest at its end.
func checkPart(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return cause.Of(err)
	}
	content := info.Size() - sha256.Size
	if !info.Mode().IsRegular() || content < 4 {
		return fmt.Errorf("%w: it has no end", ErrDamaged)
	}
	h, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.Copy(h, io.NewSectionReader(file, 0, content)); err != nil {
		return cause.Of(err)
	}
	if _, err := file.ReadAt(want, content); err != nil {
		return cause.Of(err)
	}
	if string(h.Sum(nil)) != string(want) {
		return fmt.Errorf("%w: it differs from its digest", ErrDamaged)
	}
	return nil
}
