// Package preflight tells what of a set of manifests will not work, before it goes wrong.
//
// [Foresee] takes the objects of a set as they would be, reads what its rules ask for and
// returns one remark for each thing that cannot work: a Secret that a Pod needs and nobody
// creates, a rollout that will wait for itself, a Service that selects nothing. Without a
// reader it tells what the set alone shows.
//
// A remark is never wrong; where that cannot be had, there is none. Each rule is pure, and
// silent where something that it rests on is not known: forbidden, away, or not asked. A
// set in which nothing changes asks nothing.
//
// # Codes
//
// They are stable, and those of package unready where both tell of the same thing:
// SecretMissing, SecretKeyMissing, ConfigMapMissing, ConfigMapKeyMissing, ClaimMissing,
// ServiceAccountMissing, PullSecretMissing, VariableUndefined, VolumeDeadlock, VolumeShared,
// QuotaExceeded, QuotaNeedsResources, EvictionBlocked, SelectorMatchesNothing,
// TargetPortMissing, ImageMayBeOld.
//
// The package does not say what is wrong already: that is unready's part. Of a Secret it
// keeps the keys, and no value.
package preflight
