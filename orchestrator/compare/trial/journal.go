package trial

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/checksum"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// JournalFile is the name of the journal in a campaign's folder.
const JournalFile = "trials.jsonl"

// maxLine is the most bytes that a line of a journal may have. An outcome with 100,000
// metrics has about 5 MB.
const maxLine = 64 << 20

// Errors of a journal; test with errors.Is.
var (
	// ErrBusy: another process has the journal open.
	ErrBusy = errors.New("another csiglab is at work in this folder")
	// ErrOtherPlan: the journal is of a campaign with another plan.
	ErrOtherPlan = errors.New("the folder is of another campaign")
	// ErrDamaged: a line before the last cannot be read, or the file of the plan.
	ErrDamaged = errors.New("the file is damaged")
)

// Journal has the outcomes of the trials of a campaign that have ended. It is the file
// JournalFile, with a line of JSON for each trial, which is on the disk before Add returns.
// In memory it has the places of the lines alone. It may be used from several goroutines.
type Journal struct {
	name string // of the file, in messages

	mu    sync.Mutex
	file  *os.File
	size  int64 // of the whole lines
	plan  string
	lines map[[16]byte]place
	torn  error // of a line that could not be written

	unsynced bool // in Batch
	again    bool // invalid trials of earlier sessions are run again
}

// place is where a line is in the file.
type place struct {
	offset int64
	length int
	counts bool // see Outcome.Counts
}

// entry is a line of a journal: the plan of the campaign, or a trial. It ends with a checksum.
type entry struct {
	Schema  int             `json:"schema,omitempty"`
	Plan    string          `json:"plan,omitempty"`
	Trial   *Trial          `json:"trial,omitempty"`
	Outcome json.RawMessage `json:"outcome,omitempty"`
}

// journalSchema is the version of the journal's lines.
const journalSchema = 2

// OpenJournal opens the journal of a campaign's folder, and makes both if they are not
// there. What follows the last whole line is removed: a process was killed while it wrote
// it. Trials that were invalid have not ended for the new session: what killed csiglab may
// have killed them first. They are run again. Until Close, another process gets ErrBusy. The error wraps ErrDamaged if a line before
// the last cannot be read, and own.ErrForeign if the folder is somebody else's.
func OpenJournal(dir string) (*Journal, error) {
	root, err := own.Folder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() // nothing is written through it
	file, err := root.OpenFile(JournalFile, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	j := &Journal{name: filepath.Join(dir, JournalFile), file: file, again: true}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = fmt.Errorf("%s: %w", dir, ErrBusy)
	case err == nil:
		err = j.read()
	}
	if err == nil {
		err = file.Truncate(j.size)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return j, nil
}

// ReadJournal opens the journal of a campaign's folder for reading, also while another
// process writes it: the journal has what was there. The error wraps fs.ErrNotExist if there
// is none.
func ReadJournal(dir string) (*Journal, error) {
	name := filepath.Join(dir, JournalFile)
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	j := &Journal{name: name, file: file, torn: fmt.Errorf("%s: %w: it is open for reading", name, fs.ErrPermission)}
	if err := j.read(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return j, nil
}

// read finds the lines of the file. A last line that is torn is left out.
func (j *Journal) read() error {
	j.lines = map[[16]byte]place{}
	r := bufio.NewReaderSize(io.NewSectionReader(j.file, 0, 1<<62), 64<<10)
	var line []byte
	var wrong error // of the line before
	for number := 1; ; number++ {
		var whole bool
		var err error
		if line, whole, err = nextLine(r, line[:0]); err != nil {
			return fmt.Errorf("%s:%d: %w", j.name, number, err)
		}
		if len(line) == 0 {
			if errors.Is(wrong, checksum.ErrDiffers) || errors.Is(wrong, errTwice) {
				return wrong
			}
			return nil // a last line that is not JSON is torn
		}
		if wrong != nil {
			return wrong
		}
		if !whole {
			return nil
		}
		if wrong = j.index(line); wrong != nil {
			wrong = fmt.Errorf("%s:%d: %w: %w; without this line, its trial is run again", j.name, number, ErrDamaged, wrong)
			continue
		}
		j.size += int64(len(line))
	}
}

// nextLine appends the next line to a slice, with its newline if it is whole.
func nextLine(r *bufio.Reader, line []byte) (_ []byte, whole bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return line, false, fmt.Errorf("%w: the line has more than %d bytes", ErrDamaged, maxLine)
		case err == nil:
			return line, true, nil
		case errors.Is(err, io.EOF):
			return line, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, false, cause.Of(err)
		}
	}
}

// errTwice is the error of a line that contradicts an earlier one.
var errTwice = errors.New("an earlier line has another outcome of this trial")

// index records the place of a line, which begins at j.size.
func (j *Journal) index(line []byte) error {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	switch {
	case e.Plan != "" && e.Schema != journalSchema:
		return fmt.Errorf("it is of schema %d, and this csiglab reads %d", e.Schema, journalSchema)
	case e.Plan == "" && (e.Trial == nil || len(e.Outcome) == 0):
		return errors.New("it has no trial")
	case !checksum.Valid(line):
		return checksum.ErrDiffers
	case e.Plan != "":
		j.plan = e.Plan
	default:
		var out Outcome
		if err := json.Unmarshal(e.Outcome, &out); err != nil {
			return err
		}
		key := e.Trial.Key()
		if at := j.lines[key]; at.counts {
			earlier := make([]byte, at.length)
			if _, err := j.file.ReadAt(earlier, at.offset); err != nil {
				return cause.Of(err)
			}
			if !bytes.Equal(earlier, line) {
				return errTwice
			}
		}
		if j.again && out.Exit == exitInvalid {
			delete(j.lines, key)
		} else {
			j.lines[key] = place{j.size, len(line), out.Counts()}
		}
	}
	return nil
}

// exitInvalid is Outcome.Exit of an invalid run.
const exitInvalid = 3

// Claim says which plan the journal is of, by a digest. The error wraps ErrOtherPlan if it is
// of another one, or has trials of no plan.
func (j *Journal) Claim(plan string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.plan == plan:
		return nil
	case j.plan != "" || j.size > 0:
		return fmt.Errorf("%s: %w", filepath.Dir(j.name), ErrOtherPlan)
	}
	if err := j.append(entry{Schema: journalSchema, Plan: plan}, nil); err != nil {
		return err
	}
	j.plan = plan
	return nil
}

// Plan returns the digest of Claim; "" if there was none.
func (j *Journal) Plan() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.plan
}

// Len returns the number of trials that have ended.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.lines)
}

// Has reports whether a trial has ended.
func (j *Journal) Has(t Trial) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.lines[t.Key()]
	return ok
}

// Get returns the outcome of a trial, and whether it has ended.
func (j *Journal) Get(t Trial) (Outcome, bool, error) {
	j.mu.Lock()
	at, ok := j.lines[t.Key()]
	j.mu.Unlock()
	if !ok {
		return Outcome{}, false, nil
	}
	line := make([]byte, at.length)
	if _, err := j.file.ReadAt(line, at.offset); err != nil {
		return Outcome{}, false, fmt.Errorf("%s: %w", j.name, cause.Of(err))
	}
	var e struct {
		Outcome Outcome `json:"outcome"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return Outcome{}, false, fmt.Errorf("%s: %w: %w", j.name, ErrDamaged, err)
	}
	return e.Outcome, true, nil
}

// Add records the outcome of a trial. One that is there already, whose numbers do not count, is
// replaced. The error is of class failure.ErrInfrastructure, such as a full disk; nothing can be
// added after it.
func (j *Journal) Add(t Trial, out Outcome) error {
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("%s: %w", j.name, err) // a number that JSON lacks
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.append(entry{Trial: &t, Outcome: text}, func(at place) {
		at.counts = out.Counts()
		j.lines[t.Key()] = at
	})
}

// Batch calls f with a function that adds outcomes, and waits once, at the end, until all
// are on the disk. Nobody else adds meanwhile. The error is that of f, and that of the disk.
func (j *Journal) Batch(f func(add func(Trial, Outcome) error) error) error {
	j.mu.Lock()
	j.unsynced = true
	j.mu.Unlock()
	err := f(j.Add)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unsynced = false
	if sync := j.file.Sync(); sync != nil && j.torn == nil {
		j.torn = failure.Infrastructure(fmt.Errorf("%s: %w", j.name, cause.Of(sync)))
		err = errors.Join(err, j.torn)
	}
	return err
}

// append writes a line and waits until it is on the disk.
func (j *Journal) append(e entry, written func(place)) error {
	if j.torn != nil {
		return j.torn
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return err
	}
	text := checksum.Append(line.Bytes())
	_, err := j.file.WriteAt(text, j.size)
	if err == nil && !j.unsynced {
		err = j.file.Sync()
	}
	if err != nil {
		j.torn = failure.Infrastructure(fmt.Errorf("%s: %w", j.name, cause.Of(err)))
		j.file.Truncate(j.size) //nolint:errcheck // the next OpenJournal does it otherwise
		return j.torn
	}
	at := place{offset: j.size, length: len(text)}
	j.size += int64(len(text))
	if written != nil {
		written(at)
	}
	return nil
}

// Close closes the file and lets other processes open it.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.torn = fs.ErrClosed
	return j.file.Close()
}
