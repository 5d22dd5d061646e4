package jsonread

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Text reads a number, or a string that holds one, as text.
func (r *Reader) Text() (string, error) {
	kind, err := r.Peek()
	if err != nil {
		return "", err
	}
	if kind != String {
		kind = Number
	}
	text, err := r.scalar(kind)
	if err == nil && len(text) > maxNumber {
		err = r.Errorf(r.begin, "the number is longer than %d characters", maxNumber)
	}
	return text, err
}

// Int reads a whole number from low to high, which may stand in quotes, as protobuf writes
// 64 bits; what names it in the error. A fraction of zeros, such as 5.0 or 1e3, is whole.
func (r *Reader) Int(what string, low, high int64) (int64, error) {
	text, err := r.Text()
	if err != nil {
		return 0, err
	}
	v, err := Whole(text)
	if err != nil {
		return 0, r.Errorf(r.begin, "%s %q %s", what, clip(text), err)
	}
	if v < low || v > high {
		return 0, r.Errorf(r.begin, "%s is %d, want %d to %d", what, v, low, high)
	}
	return v, nil
}

// Uint reads a whole number from 0; see Int.
func (r *Reader) Uint(what string) (uint64, error) {
	text, err := r.Text()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		w, err := Whole(text)
		if err != nil {
			return 0, r.Errorf(r.begin, "%s %q %s", what, clip(text), err)
		}
		if w < 0 {
			return 0, r.Errorf(r.begin, "%s is %d, want 0 or more", what, w)
		}
		v = uint64(w)
	}
	return v, nil
}

// Float reads a number, which may stand in quotes; see Int.
func (r *Reader) Float(what string) (float64, error) {
	text, err := r.Text()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, r.Errorf(r.begin, "%s %q is not a number that fits", what, clip(text))
	}
	return v, nil
}

var errRange, errWhole = errors.New("does not fit 64 bits"), errors.New("is not a whole number")

// Whole returns the whole number of a text that Text has returned; a fraction of zeros is whole.
func Whole(text string) (int64, error) {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return v, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, errRange
	}
	if err != nil {
		return 0, errWhole
	}
	if f < -(1<<63) || f >= 1<<63 {
		return 0, errRange
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	if f == 0 && strings.Trim(mantissa, "-+.0") == "" {
		return 0, nil
	}
	if f == 0 || f != math.Trunc(f) {
		return 0, errWhole
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok || !exact.IsInt() {
		return 0, errWhole
	}
	if !exact.Num().IsInt64() {
		return 0, errRange
	}
	return exact.Num().Int64(), nil
}

func clip(text string) string {
	const most = 40
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
