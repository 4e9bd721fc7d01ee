"""`phaser run --help` and `phaser grid --help`: what people change, on one screen.

Nothing is imported for them; --help-all lists everything.
"""

RUN = """\
usage: phaser run PRESET [flags]          learn tasks in a row with one method
       phaser run --resume DIR            go on with an interrupted run

what     --method NAME                    see phaser methods (default: phaser)
         --budget N                       frames kept per task (default: 20)
         --seed S                         seed of the run (default: 0)
         --phases FILE                    phases by hand instead of Auto-PC's
         --policy NAME                    tiny, openvla-oft, qwen-gr00t, ...
stream   --suite.order reverse            the other way round
         --suite.task-list A B            other tasks
         --suite.sources A B              datasets of yours (preset datasets)
training --fit.steps-per-task N           --fit.batch-size N
         --fit.learning-rate X            --fit.rehearsed-share X
measure  --evaluation.rollouts-per-task N --evaluation.earlier-rollouts N
files    --out DIR                        default: runs/PRESET/NAME-OF-THE-RUN
         --from FILE                      settings of another run's run.json
         --record N                       film the first N rollouts of each task
machine  --workers N  --simulators N      processes that record, that try
output   --verbose  --json

All flags and settings of a preset and method: phaser run PRESET --help-all
On several GPUs: accelerate launch --num_processes 2 -m phaser.cli run PRESET
"""

GRID = """\
usage: phaser grid PRESET [flags]         methods x seeds x budgets
       phaser grid --from grid.toml       the same grid again

axes     --methods A B                    default: sequential er phaser
         --seeds 0-7                      default: 0
         --budgets 10 20 50               frames kept per task (default: 20)
         --alternate-order                odd seeds learn the tasks in reverse
         --orders default reverse         --streams 0-3
         --axis fit.batch_size 32 64      any setting is an axis
all      --phases FILE                    phases by hand instead of Auto-PC's
         --policy NAME                    tiny, openvla-oft, qwen-gr00t, ...
         --suite.task-list A B            other tasks
         --fit.steps-per-task N           --fit.rehearsed-share X
         --evaluation.rollouts-per-task N --evaluation.earlier-rollouts N
files    --out DIR                        default: runs/PRESET
         --record N                       film the first N rollouts of each task
         --stop-early                     no seeds beyond a decision
machine  --workers N                      cells at a time (default: 2)
         --engine ray --address auto      on a Ray cluster
output   --verbose  --json                --track tensorboard

All flags and settings: phaser grid PRESET --help-all
"""

SCREENS = {"run": RUN, "grid": GRID}
