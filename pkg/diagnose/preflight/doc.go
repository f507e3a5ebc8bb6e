// Package preflight finds what will not work in a set of manifests, before it goes wrong.
//
// [Foresee] takes the objects of a set as they would be, reads what its rules ask for and
// returns one remark for each thing that cannot work: a Secret that a Pod needs and
// nothing creates, a rollout that will wait for itself, a Service that selects nothing.
// Without a reader it returns what the set alone shows.
//
// A remark is never wrong: in doubt there is none. Each rule is pure, and silent if
// something that it rests on is not known because it is forbidden, unreachable or not
// asked for. A set in which nothing changes asks nothing.
//
// # Codes
//
// They are stable, and the same as those of package unready for the same cause:
// SecretMissing, SecretKeyMissing, ConfigMapMissing, ConfigMapKeyMissing, ClaimMissing,
// ServiceAccountMissing, PullSecretMissing, VariableUndefined, VolumeDeadlock,
// VolumeShared, QuotaExceeded, QuotaNeedsResources, EvictionBlocked,
// SelectorMatchesNothing, TargetPortMissing, ImageMayBeOld, NeedsPruned, GoesWithPruned.
//
// The package does not say what is wrong already: package unready does. It keeps the keys
// of a Secret, and never a value.
package preflight
