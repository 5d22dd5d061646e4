package experiment

import (
	"reflect"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
)

// What the tag is says becomes a rule, and a mistake in it is named.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		is    string
		value any
		good  string // separated by commas
		bad   string
	}{
		{"2 to 160", 0, "2,160,0x10", "1,161,-2,x,2.5"},
		{"1us or more", units.Duration(0), "1us,3h", "999ns,1,0s"},
		{"rate or auto", units.Rate(0), "auto,1Mbps,100Tbps", "101Tbps,any,100kbps"},
		{"time or never as -1", units.Duration(0), "never,0s,24h", "25h,-2ps,auto"},
		{"up|down", "", "up,down", "Up,left"},
		{"group", "", "a,a-b_1", "A,1a"},
		{"", 0, "0,7", "-1"},
		{"ports", []int{}, "1,4096", "0,4097"},
	} {
		typ := reflect.TypeOf(c.value)
		rule, err := newRule(c.is, typ)
		if err != nil {
			t.Errorf("is:%q: %v", c.is, err)
			continue
		}
		if typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		d := decoder{}
		for text := range strings.SplitSeq(c.good, ",") {
			if msg, _ := d.value(&tree{kind: scalar, text: text}, reflect.New(typ).Elem(), rule); msg != "" {
				t.Errorf("is:%q refuses %s: %s", c.is, text, msg)
			}
		}
		for text := range strings.SplitSeq(c.bad, ",") {
			if msg, _ := d.value(&tree{kind: scalar, text: text}, reflect.New(typ).Elem(), rule); msg == "" {
				t.Errorf("is:%q accepts %s", c.is, text)
			}
		}
	}
	for is, value := range map[string]any{"rat": units.Rate(0), "1 to x": 0, "1 to 2us": units.Duration(0), "up or auto": "", "0 to 1": 0.5, "ports": 0.5, "1 to 5": uint64(0), "runtime or auto": ""} {
		if _, err := newRule(is, reflect.TypeOf(value)); err == nil {
			t.Errorf("is:%q of %T is accepted", is, value)
		}
	}
}

// A module's kind whose tags cannot be read, or that lacks them, is refused with the key.
func TestKindsLack(t *testing.T) {
	type badRule struct {
		Size int `yaml:"size" is:"biig" doc:"x"`
	}
	type badWord struct {
		Size int `yaml:"size,requierd" doc:"x"`
	}
	type noDoc struct {
		Size int `yaml:"size"`
	}
	type badDefault struct {
		Size int `yaml:"size" is:"1 to 2" default:"3" doc:"x"`
	}
	for want, value := range map[string]any{`key size: is:"biig"`: badRule{}, `has the word "requierd"`: badWord{}, `key "size" has no doc`: noDoc{}, `default "3"`: badDefault{}} {
		k := registered{Kind: Kind{Name: "mine", Doc: "x"}, value: reflect.TypeOf(value)}
		if lacks := strings.Join(k.lacks(topologySection), "\n"); !strings.Contains(lacks, want) {
			t.Errorf("%T lacks %q, want %q", value, lacks, want)
		}
	}
}
