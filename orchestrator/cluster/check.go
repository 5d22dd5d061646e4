package cluster

// levelLabel is the label of a namespace that names its PodSecurity level (Pod Security
// Admission).
const levelLabel = "pod-security.kubernetes.io/enforce"
