package docs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// example is a file that ci-gate.md or ci.md shows.
type example struct{ file, text string }

var exampleFile = regexp.MustCompile("(?s)<!-- file: ([^ ]+) -->\n```yaml\n(.*?)\n```\n")

// ciExamples returns the files that ci-gate.md and ci.md show, and checks that they name each of them.
func ciExamples(t *testing.T) (list []example) {
	t.Helper()
	var text []byte
	for _, page := range []string{"tutorial/ci-gate.md", "how-to/ci.md"} {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, content...)
	}
	for _, m := range exampleFile.FindAllStringSubmatch(string(text), -1) {
		list = append(list, example{m[1], m[2] + "\n"})
	}
	if n := strings.Count(string(text), "\n```yaml\n"); n != len(list) || n < 4 {
		t.Fatalf("%d blocks of YAML, %d with the name of a file above", n, len(list))
	}
	return list
}

func isGitHub(e example) bool { return strings.HasPrefix(e.file, ".github/") }

// actionlintVersion is the linter of GitHub's workflows (MIT). It is built outside of this
// module, whose YAML library is newer than it can use.
const actionlintVersion = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"

// The examples for GitHub Actions have no complaint of actionlint, which knows keys,
// expressions, contexts and the inputs of the actions that they use.
func TestGitHubExamples(t *testing.T) {
	bin := t.TempDir()
	install := exec.Command("go", "install", actionlintVersion)
	install.Dir, install.Env = bin, append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("actionlint is not at hand: %v\n%s", err, tail(out))
	}
	lint := func(e example) (string, error) {
		path := filepath.Join(t.TempDir(), filepath.Base(e.file))
		if err := os.WriteFile(path, []byte(e.text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(filepath.Join(bin, "actionlint"), "-no-color", "-shellcheck=", "-pyflakes=", path).CombinedOutput()
		return string(out), err
	}
	n := 0
	for _, e := range ciExamples(t) {
		if !isGitHub(e) {
			continue
		}
		n++
		if out, err := lint(e); err != nil {
			t.Errorf("%s: %v\n%s", e.file, err, out)
		}
		// The linter finds a slip in each.
		for from, to := range map[string]string{"runs-on:": "run-on:", "fetch-depth:": "fetch-dept:", "matrix.shard }}": "matrix.shards }}", "steps.regress.": "steps.regression."} {
			broken := example{e.file, strings.Replace(e.text, from, to, 1)}
			if broken.text == e.text {
				continue
			}
			if out, err := lint(broken); err == nil {
				t.Errorf("%s: nothing is wrong with %q\n%s", e.file, to, out)
			}
		}
	}
	if n < 2 {
		t.Errorf("%d examples for GitHub", n)
	}
}

// gitlabSchema is GitLab's own schema of .gitlab-ci.yml, as the npm package
// gitlab-ci-local (MIT) has it. CI installs the package.
func gitlabSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: ", err)
	}
	path := ""
	for _, dir := range filepath.SplitList(os.Getenv("NODE_PATH")) {
		if file := filepath.Join(dir, "gitlab-ci-local/src/schema/schema.js"); path == "" {
			if _, err := os.Stat(file); err == nil {
				path = file
			}
		}
	}
	if path == "" {
		t.Skip("the schema of the npm package gitlab-ci-local is not below NODE_PATH")
	}
	cmd := exec.Command(node, "--input-type=module", "-e", "const m = await import(process.argv[1]); process.stdout.write(JSON.stringify(m.schema))", path)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("gitlab-ci.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("gitlab-ci.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// The examples for GitLab are valid by GitLab's schema.
func TestGitLabExamples(t *testing.T) {
	schema := gitlabSchema(t)
	validate := func(text string) error {
		asJSON, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return err
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			return err
		}
		return schema.Validate(document)
	}
	n := 0
	for _, e := range ciExamples(t) {
		if isGitHub(e) {
			continue
		}
		n++
		if err := validate(e.text); err != nil {
			t.Errorf("%s: %v\n%s", e.file, err, e.text)
		}
		// The schema finds a slip in each.
		for from, to := range map[string]string{"  script:": "  scripts:", "junit: verdict": "junits: verdict", "parallel: 4": "parallel: four"} {
			broken := strings.Replace(e.text, from, to, 1)
			if broken == e.text {
				continue
			}
			if err := validate(broken); err == nil {
				t.Errorf("%s: nothing is wrong with %q", e.file, to)
			}
		}
	}
	if n < 3 {
		t.Errorf("%d examples for GitLab", n)
	}
}

// Scripts of the examples are bash that parses.
func TestCIScripts(t *testing.T) {
	n := 0
	for _, e := range ciExamples(t) {
		var document any
		if err := yaml.Unmarshal([]byte(e.text), &document); err != nil {
			t.Fatalf("%s: %v", e.file, err)
		}
		for _, script := range scripts(document) {
			n++
			// An expression of GitHub is put in before bash sees it.
			plain := regexp.MustCompile(`\$\{\{.*?\}\}`).ReplaceAllString(script, "1")
			cmd := exec.Command("bash", "-n")
			cmd.Stdin = strings.NewReader(plain)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s\n%s", e.file, err, out, plain)
			}
		}
	}
	if n < 15 {
		t.Errorf("%d scripts", n)
	}
}

// scripts returns the commands of a job, of either kind.
func scripts(v any) (list []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch key {
			case "run", "script", "after_script", "before_script":
				if text, ok := value.(string); ok {
					list = append(list, text)
				}
				if lines, ok := value.([]any); ok {
					for _, line := range lines {
						if text, ok := line.(string); ok {
							list = append(list, text)
						}
					}
				}
			default:
				list = append(list, scripts(value)...)
			}
		}
	case []any:
		for _, value := range v {
			list = append(list, scripts(value)...)
		}
	}
	return list
}

// TestScriptsOfJobs: no script is passed over.
func TestScriptsOfJobs(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(`{"a":{"script":["one","two"],"after_script":["three"]},"jobs":{"b":{"steps":[{"run":"four"},{"uses":"x"}]}}}`), &v); err != nil {
		t.Fatal(err)
	}
	if got := len(scripts(v)); got != 4 {
		t.Errorf("%d scripts, want 4", got)
	}
}
