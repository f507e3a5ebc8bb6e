// Package preflight finds, before a set of manifests is applied, what will not work. [Foresee]
// returns one remark for each fault: a missing Secret, a rollout that waits for itself, a Service
// that selects nothing. A remark is never wrong: in doubt there is none. It keeps the keys of a
// Secret and never a value. Package unready reports faults that exist already.
//
// # Codes
//
// They are stable, and the same as those of package unready for the same cause: SecretMissing,
// SecretKeyMissing, ConfigMapMissing, ConfigMapKeyMissing, ClaimMissing, ServiceAccountMissing,
// PullSecretMissing, VariableUndefined, VolumeDeadlock, VolumeShared, QuotaExceeded,
// QuotaNeedsResources, EvictionBlocked, SelectorMatchesNothing, TargetPortMissing, ImageMayBeOld,
// NeedsPruned, GoesWithPruned.
package preflight
