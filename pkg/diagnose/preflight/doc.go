// Package preflight finds what will not work in a set of manifests before it is applied. [Foresee]
// returns one remark for each trouble: a missing Secret, a rollout that waits for itself, a
// Service that selects nothing. A remark is never wrong: in doubt there is none. It reads no value
// of a Secret and does not report present trouble (package unready does).
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
