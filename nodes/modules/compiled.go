package modules

// compiled is what Compiled returns. csiglab build compiles another file in place of this
// one.
var compiled []Module
