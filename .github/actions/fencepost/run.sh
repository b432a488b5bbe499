#!/usr/bin/env bash
# Runs the command in FENCEPOST_COMMAND as a step of a workflow, with its exit code: reports in RUNNER_TEMP, outputs,
# and a summary.
set -uo pipefail

# Words are split as a shell does, and nothing in them is run.
split='import os, shlex; print(*shlex.split(os.environ["FENCEPOST_COMMAND"]), sep="\0", end="")'
mapfile -d '' -t words < <(python3 -c "$split")
if [ "${#words[@]}" -eq 0 ]; then
    echo "fencepost: no command is named; write with: command: agree PROTOCOL/VARIANT" >&2
    exit 2
fi

folder=$(mktemp -d "$RUNNER_TEMP/fencepost.XXXXXX")
reports=()
case ${words[0]} in
    agree | doctor | prove | replay | verify) reports=(--junit "$folder/junit.xml" --sarif "$folder/fencepost.sarif") ;;
esac
fencepost "${words[@]}" ${reports[@]+"${reports[@]}"} 2>&1 | tee "$folder/output.txt"
code=${PIPESTATUS[0]}

{
    echo "exit-code=$code"
    [ ! -e "$folder/junit.xml" ] || echo "junit=$folder/junit.xml"
    [ ! -e "$folder/fencepost.sarif" ] || echo "sarif=$folder/fencepost.sarif"
} >>"$GITHUB_OUTPUT"
case $code in
    0) said="as expected" ;;
    1) said="not as expected" ;;
    *) said="no verdict, exit code $code" ;;
esac
{
    printf '### fencepost %s: %s\n\n' "${words[0]}" "$said"
    printf '`````text\n$ fencepost %s\n' "$FENCEPOST_COMMAND"
    # Annotations are for the runner; a summary has room for a megabyte.
    grep -v '^::' "$folder/output.txt" | tail -c 60000
    printf '\n`````\n'
} >>"$GITHUB_STEP_SUMMARY"
exit "$code"
