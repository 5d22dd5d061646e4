package device_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/reports/device"
	"github.com/csiglab/csiglab/reports/junit"
)

// faulty loses a frame of the first vector, changes an octet of the second and third, cannot do the
// fourth, breaks at the fifth, and is right from then on.
type faulty struct {
	vectors []conformance.Vector
	n       int
}

func (f *faulty) Close() error { return nil }

func (f *faulty) Run(context.Context, *conformance.Request) ([]conformance.Frame, error) {
	v := f.vectors[f.n]
	f.n++
	out := v.Out
	switch f.n {
	case 1:
		return nil, nil
	case 2, 3:
		changed := out[len(out)-1]
		changed.Bytes = bytes.Clone(changed.Bytes)
		changed.Bytes[14] ^= 0xff
		return append(out[:len(out)-1:len(out)-1], changed), nil
	case 4:
		return nil, fmt.Errorf("%w: <b>no</b> wide\x1b tags", conformance.ErrCannot)
	case 5:
		return nil, errors.New("it <fell> over")
	}
	return out, nil
}

func report(t *testing.T) *conformance.Report {
	t.Helper()
	all, err := conformance.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	all, err = conformance.Select(all, []string{"CSIG-UPD-01", "CSIG-UPD-02", "CSIG-EDG-06"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := conformance.Run(t.Context(), "a <device>", &faulty{vectors: all}, all)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestText(t *testing.T) {
	text := device.Text(report(t))
	for _, want := range []string{
		"CSIG-UPD-01/abw: fail\n  A local value below that of a min type (T 0, 1) replaces S.\n  standard: IETF, sequence of compare and update\n",
		"it did not leave\n", "  also: CSIG-UPD-01/abw-c CSIG-UPD-01/wide-abw\n",
		"skip: the device cannot do this: <b>no</b> wide", ": CSIG-UPD-01/wide-abw-c\n", "error: it <fell> over: CSIG-UPD-02/delay\n",
		"\na <device>\n3 rules, 10 vectors: 5 pass, 3 fail, 1 skipped, 1 error\nfailed: CSIG-UPD-01\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("what a device says reaches the terminal as it is")
	}
}

// Counts are those of the cases; a failure has the octets.
func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := device.JUnit(&b, report(t), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	var d junit.Document
	if err := xml.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	var tests, failures, errs, skipped int
	for _, s := range d.Suites {
		tests, failures, errs, skipped = tests+s.Tests, failures+s.Failures, errs+s.Errors, skipped+s.Skipped
	}
	if len(d.Suites) != 3 || tests != 10 || failures != 3 || errs != 1 || skipped != 1 {
		t.Errorf("%d suites, %d tests, %d failures, %d errors, %d skipped", len(d.Suites), tests, failures, errs, skipped)
	}
	c := d.Suites[0].Cases[1]
	if c.Class != "CSIG-UPD-01" || c.Name != "abw-c" || c.Failure == nil || !strings.Contains(c.Failure.Text, "^^") {
		t.Errorf("case %+v", c)
	}
}

func TestHTML(t *testing.T) {
	var b bytes.Buffer
	if err := device.HTML(&b, report(t)); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"a &lt;device&gt;", "CSIG-UPD-01", "Rules that failed: UPD 1 of 2", "Rules of the standard", "Choices of csiglab", "CSIG-EDG-06", "it did not leave\n  0000 want", "it &lt;fell&gt; over"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "<b>no</b>") {
		t.Error("what a device says is HTML")
	}
}
