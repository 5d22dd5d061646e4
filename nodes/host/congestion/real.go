package congestion

import "math"

// The functions of this file have the same result to the bit on every machine, which
// those of package math have not: these are assembly on some.

// expReduced returns e^x of -2 <= x <= 2, with a relative error below 1e-14.
func expReduced(x float64) float64 {
	sum := 1.0
	for n := 28; n > 0; n-- {
		sum = 1 + float64(float64(x*sum)/float64(n))
	}
	return sum
}

// ln returns the natural logarithm of x > 0, with an error below 1e-14 of the larger of it
// and 1.
func ln(x float64) float64 {
	fraction, exponent := math.Frexp(x) // from 0.5 to below 1
	if fraction < math.Sqrt2/2 {
		fraction *= 2
		exponent--
	}
	// ln f = 2 artanh z with z = (f-1)/(f+1), of which |z| < 0.172.
	z := (fraction - 1) / (fraction + 1)
	square := float64(z * z)
	sum := 0.0
	for n := 19; n > 0; n -= 2 {
		sum = float64(square*sum) + 1/float64(n)
	}
	return float64(float64(exponent)*math.Ln2) + float64(2*z*sum)
}

// power returns x^n of n >= 0.
func power(x float64, n int64) float64 {
	product := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			product *= x
		}
		x *= x
	}
	return product
}
