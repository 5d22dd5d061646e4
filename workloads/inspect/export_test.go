package inspect

// WithLimits is Summarise with other limits.
var WithLimits = summarise
