package runfolder

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/internal/checkout"
)

// The decoder returns the rows of every table as the Parquet package's own reader does, over
// several row groups and pages, with nulls, with dictionaries and without.
func TestDecoder(t *testing.T) {
	checkout.SkipSlowRace(t)
	sameRows[PortRow](t)
	sameRows[FlowRow](t)
	sameRows[SignalRow](t)
	sameRows[CCRow](t)
	sameRows[EventRow](t)
	sameRows[OperationRow](t)
	sameRows[InstanceRow](t)
	sameRows[PhaseRow](t)
	sameRows[MetricRow](t)
	sameRows[TruthRow](t)
}

func sameRows[T any](t *testing.T) {
	t.Helper()
	name := fmt.Sprintf("%T", *new(T))
	random := rand.New(rand.NewPCG(14, 5))
	rows := make([]T, 3000)
	for i := range rows {
		randomise(random, reflect.ValueOf(&rows[i]).Elem())
	}
	path := filepath.Join(t.TempDir(), "table.parquet")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := parquet.NewGenericWriter[T](file, parquet.PageBufferSize(4<<10))
	for at := 0; at < len(rows); at += 1000 { // row groups
		if _, err := w.Write(rows[at : at+1000]); err != nil {
			t.Fatal(name, err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(name, err)
	}
	want, err := parquet.ReadFile[T](path)
	if err != nil {
		t.Fatal(name, err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	p, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDecoder[T](p, 170) // not a divisor of the row groups
	if err != nil {
		t.Fatal(name, err)
	}
	defer d.close()
	var got []T
	for {
		batch, err := d.next()
		got = append(got, batch...)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(name, err)
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("%s (-got +want):\n%.2000s", name, diff)
	}
}

// randomise sets the fields of a row. Some texts repeat, some do not; some pointers are nil.
func randomise(random *rand.Rand, v reflect.Value) {
	text := func() string {
		if random.IntN(3) == 0 {
			return fmt.Sprint("once ", random.Uint64())
		}
		return []string{"", "a", "tor0-agg0", "<ü>\n"}[random.IntN(4)]
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer {
			if random.IntN(3) == 0 {
				continue
			}
			f.Set(reflect.New(f.Type().Elem()))
			f = f.Elem()
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString(text())
		case reflect.Int32, reflect.Int64:
			f.SetInt(int64(random.Int32()) - 1<<30)
		case reflect.Uint64:
			f.SetUint(random.Uint64())
		case reflect.Float64:
			f.SetFloat(random.NormFloat64())
		case reflect.Bool:
			f.SetBool(random.IntN(2) == 0)
		case reflect.Map:
			m := map[string]int64{}
			for range random.IntN(4) {
				m[text()] = random.Int64()
			}
			f.Set(reflect.ValueOf(m))
		default:
			panic("runfolder: a field of kind " + f.Kind().String())
		}
	}
}
