package main

// Certificate authorities for machines that have none of their own, such as a pod, whose
// image holds csiglab alone: an object store is reached by TLS.
import _ "golang.org/x/crypto/x509roots/fallback"
