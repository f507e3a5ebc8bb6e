// Package waitcmd is the verb wait, and the parts of it that apply --wait shares: conditions and
// readiness rules, causes of objects that hang, and the images that Pods run.
package waitcmd
