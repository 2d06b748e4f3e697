"""Making plans: which files, cut where, into what.

| module | what |
|---|---|
| `sources` | the files that a user's words name: paths, folders, globs, ``s3://`` |
| `splitting` | where large files may be cut |
| `grouping` | small files, some at a time |
| `schemas` | the types of a text, fixed once for all of its parts |
| `convert` | `plan_convert` and `plan_encode` |
| `others` | `plan_put` and `plan_measure` |
| `taken` | results whose names are taken |
| `telling` | what a source holds, as far as a plan must know it |
"""
