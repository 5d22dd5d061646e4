package reports

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// A few numbers are text of six digits, many are words; NaN is none in both.
func TestNumbersOfFigures(t *testing.T) {
	text, err := json.Marshal(numbers{0, 1.0 / 3, math.NaN(), 123456789, -1e-9, math.Inf(1)})
	if want := `[0,0.333333,null,1.23457e+08,-1e-09,null]`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	many := make(numbers, manyNumbers+1)
	for i := range many {
		many[i] = float64(i) - 100
	}
	many[7] = math.NaN()
	if text, err = json.Marshal(many); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Min, Quantum float64
		Words        []byte
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Words) != 2*len(many) {
		t.Fatalf("%d bytes of %d numbers", len(got.Words), len(many))
	}
	for i, want := range many {
		word := binary.LittleEndian.Uint16(got.Words[2*i:])
		v := got.Min + got.Quantum*float64(word)
		if (word == noNumber) != math.IsNaN(want) || math.Abs(v-want) > got.Quantum/2 {
			t.Fatalf("number %d is %g, want %g", i, v, want)
		}
	}
	for _, same := range []float64{0, 5, math.NaN()} {
		for i := range many {
			many[i] = same
		}
		if _, err := json.Marshal(many); err != nil {
			t.Errorf("all %g: %v", same, err)
		}
	}
}

// The policy names the hash of the page's only script that is one, and the data block
// holds the numbers of each figure that a drawing names.
func TestScriptAndData(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHTML(&b, build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	scripts := regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(scripts) != 2 || scripts[0][1] != ` type="application/json" id="data"` || scripts[1][1] != "" {
		t.Fatalf("%d scripts", len(scripts))
	}
	sum := sha256.Sum256([]byte(scripts[1][2]))
	if policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page); policy == nil ||
		!strings.HasPrefix(html.UnescapeString(policy[1]), "default-src 'none'; ") ||
		!strings.Contains(html.UnescapeString(policy[1]), "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("policy %q", policy)
	}
	var data struct {
		Figures []struct {
			ID, Kind string
			Series   []struct {
				Name   string
				Values []*float64
			}
		}
	}
	if err := json.Unmarshal([]byte(scripts[0][2]), &data); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range data.Figures {
		known[f.ID] = true
		for i, s := range f.Series {
			if s.Name == "" || len(s.Values) == 0 {
				t.Errorf("figure %s: series %d is %q with %d values", f.ID, i, s.Name, len(s.Values))
			}
			if !strings.Contains(page, fmt.Sprintf(`data-series="%d"`, i)) {
				t.Errorf("no drawing has series %d", i)
			}
		}
	}
	named := 0
	for _, svg := range regexp.MustCompile(`data-figure="([^"]*)" data-plot="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		var a plotArea
		if n, err := fmt.Sscan(svg[2], &a.X, &a.Y, &a.Width, &a.Height); n != 4 || err != nil || a.Width < 100 || a.Height < 20 {
			t.Errorf("figure %s has the plot area %q", svg[1], svg[2])
		}
		if !known[svg[1]] {
			t.Errorf("a drawing names figure %q, which has no data", svg[1])
		}
		named++
	}
	if named < len(data.Figures) || len(data.Figures) < 10 {
		t.Errorf("%d drawings of %d figures", named, len(data.Figures))
	}
}

// What stands in the script cannot end it or hide what follows.
func TestScriptText(t *testing.T) {
	if at := regexp.MustCompile(`(?i)</script|<!--|<script`).FindString(pageScript()); at != "" {
		t.Errorf("the script has %q", at)
	}
	for _, word := range []string{"fetch", "XMLHttpRequest", "localStorage", "sessionStorage", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "import("} {
		if strings.Contains(pageScript(), word) {
			t.Errorf("the script has %q", word)
		}
	}
}
