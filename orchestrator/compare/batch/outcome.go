package batch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// report is what a pod says of its trial.
type report struct {
	Key     string        `json:"key"`             // of the trial, hexadecimal
	Lacks   bool          `json:"lacks,omitempty"` // the image has not got the trial's program
	Has     string        `json:"has,omitempty"`   // with Lacks: what the image has
	Outcome trial.Outcome `json:"outcome"`
}

func keyText(t trial.Trial) string {
	key := t.Key()
	return hex.EncodeToString(key[:])
}

// A report is text of its own in the log: compressed, and cut into lines that no log of
// containers splits (they do at 16 KiB). Most reports are one line.
//
//	csiglab-outcome 1/2 8192 5e1f0a9b BASE64…
const (
	reportMark = "csiglab-outcome "
	mostPart   = 8 << 10  // bytes of a line's text
	mostParts  = 8 << 10  // lines of a report
	mostReport = 64 << 20 // bytes, uncompressed
)

// write writes the report, with one call.
func (p *report) write(w io.Writer) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(text) //nolint:errcheck // into memory
	z.Close()     //nolint:errcheck // into memory
	data := base64.StdEncoding.EncodeToString(packed.Bytes())
	parts := (len(data) + mostPart - 1) / mostPart
	if parts > mostParts {
		return fmt.Errorf("the outcome has %d bytes", len(text))
	}
	var lines bytes.Buffer
	lines.WriteByte('\n') // what others have written may have no end
	for i := range parts {
		part := data[i*mostPart : min(len(data), (i+1)*mostPart)]
		fmt.Fprintf(&lines, "%s%d/%d %d %08x %s\n", reportMark, i+1, parts, len(part), crc32.ChecksumIEEE([]byte(part)), part)
	}
	_, err = w.Write(lines.Bytes())
	return err
}

// errNoReport: a log has no whole report.
var errNoReport = errors.New("the log has no outcome")

// readReport reads a log until it has a whole report. What else is in the log is skipped.
func readReport(log io.Reader) (*report, error) {
	r := bufio.NewReaderSize(log, 4*mostPart)
	var parts []string
	left, long := 0, false
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = true
			continue
		case long: // the end of a line that is not ours
			long = false
		default:
			i, of, part, ok := parsePart(string(line))
			if !ok {
				break
			}
			if len(parts) != of {
				parts, left = make([]string, of), of
			}
			if parts[i-1] == "" {
				left--
			}
			parts[i-1] = part
			if left == 0 {
				return unpack(strings.Join(parts, ""))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil, errNoReport
		}
		if err != nil {
			return nil, err
		}
	}
}

// parsePart returns the part of a report that a line has.
func parsePart(line string) (i, of int, part string, ok bool) {
	at := strings.LastIndex(line, reportMark)
	if at < 0 {
		return 0, 0, "", false
	}
	fields := strings.SplitN(line[at+len(reportMark):], " ", 4)
	if len(fields) != 4 {
		return 0, 0, "", false
	}
	first, second, _ := strings.Cut(fields[0], "/")
	i, err1 := strconv.Atoi(first)
	of, err2 := strconv.Atoi(second)
	length, err3 := strconv.Atoi(fields[1])
	sum, err4 := strconv.ParseUint(fields[2], 16, 32)
	if errors.Join(err1, err2, err3, err4) != nil || i < 1 || i > of || of > mostParts || length < 1 || length > min(mostPart, len(fields[3])) {
		return 0, 0, "", false
	}
	part = fields[3][:length]
	return i, of, part, crc32.ChecksumIEEE([]byte(part)) == uint32(sum)
}

// unpack reads the text of a report.
func unpack(data string) (*report, error) {
	packed, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	p := &report{}
	if err := json.NewDecoder(io.LimitReader(z, mostReport)).Decode(p); err != nil {
		return nil, fmt.Errorf("outcome: %w", err)
	}
	return p, nil
}
